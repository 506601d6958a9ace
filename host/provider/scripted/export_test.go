package scripted

// Actions counts, for each step, the things it does.
func (s *Script) Actions() []int {
	var out []int
	for _, step := range s.steps {
		n := 0
		for _, does := range []bool{step.say != "", len(step.calls) > 0, step.failure != nil} {
			if does {
				n++
			}
		}
		out = append(out, n)
	}
	return out
}
