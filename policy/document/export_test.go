package document

// ParseEach is a reading in which no element is read by the one before it.
func ParseEach(raw []byte, strict bool) (Document, error) {
	p := parser{Document: Document{raw: raw}, strict: strict}
	d, _, err := p.all()
	return d, err
}

// InVain is how many bytes of a text a reading has lost at the least: what was read in vain, less what was spared.
func InVain(raw []byte) int {
	p := parser{Document: Document{raw: raw}, strict: true, spare: credit(raw)}
	_, _, _ = p.all()
	return credit(raw) - p.spare
}
