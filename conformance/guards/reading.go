package main

// reading is what makes a document mean one thing to everybody.
func reading() []guard {
	const inReader, names, parse, scalar = "./policy/document", "policy/document/names.go", "policy/document/parse.go", "policy/document/scalar.go"
	return []guard{
		{"names-twice", names, "if string(p.Text(k)) == string(name) {", "if string(p.Text(k)) == string(name) && !p.strict {", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"names-twice-among-many", names, "return len(n.seen) > before", "return len(n.seen) >= before", inReader, "TestManyNamesAreCompared"},
		{"bytes-of-no-character", parse, "if p.strict && !utf {", "if false {", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"lone-surrogates", parse, "p.strict && as == lone", "false", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"one-value", parse, "if end < 0 || p.skip(end) != len(raw) {", "if end < 0 {", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"depth-of-documents", parse, "if level > maxDepth {", "if false {", inReader, "TestDepthIsBounded"},
		{"canonical-names", names, "\tn.unsorted, p.mixed = true, true\n", "\tn.unsorted = true\n", inReader, "TestOnlyWhatIsCanonicalIsSaidToBe"},
		{"names-in-order", "policy/document/canonical.go", "bytes.Compare(w.d.Text(a), w.d.Text(b))", "bytes.Compare(w.d.Text(a), w.d.Text(a))", inReader, "TestWhatIsOnlyMixedIsPutInOrder"},
		{"tokens-in-use", "policy/document/reader.go", "r.used = append(r.used, tape)", "r.free = append(r.free, tape)", inReader, "TestAReaderKeepsWhatIsInUse"},
		{"tokens-of-another", parse, "*t = Token{Kind: kind, Start: int32(start), End: int32(end), Next: int32(n + 1)}", "t.Kind, t.Start, t.End, t.Next = kind, int32(start), int32(end), int32(n+1)", inReader, "TestAReaderKeepsWhatIsInUse"},
		{"canonical-numbers", scalar, " || string(p.raw[pos:at]) == \"-0\"", "", inReader, "TestOnlyWhatIsCanonicalIsSaidToBe"},
	}
}
