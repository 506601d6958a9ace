package main

// reading is what makes a document mean one thing to everybody.
func reading() []guard {
	const inReader, names, parse, scalar, alike = "./policy/document", "policy/document/names.go", "policy/document/parse.go", "policy/document/scalar.go", "policy/document/alike.go"
	return []guard{
		{"names-twice", names, "if string(p.Text(k)) == string(name) {", "if string(p.Text(k)) == string(name) && !p.strict {", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"names-twice-among-many", names, "return len(n.seen) > before", "return len(n.seen) >= before", inReader, "TestManyNamesAreCompared"},
		{"bytes-of-no-character", parse, "if p.strict && !utf {", "if false {", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"lone-surrogates", parse, "p.strict && as == lone", "false", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"one-value", parse, "if end < 0 || p.skip(end) != len(p.raw) {", "if end < 0 {", inReader, "TestStrictRefusesWhatReadersDisagreeAbout"},
		{"depth-of-documents", parse, "if level > maxDepth {", "if false {", inReader, "TestDepthIsBounded"},
		{"canonical-names", names, "\tn.unsorted, p.mixed = true, true\n", "\tn.unsorted = true\n", inReader, "TestOnlyWhatIsCanonicalIsSaidToBe"},
		{"names-in-order", "policy/document/canonical.go", "bytes.Compare(w.d.Text(a), w.d.Text(b))", "bytes.Compare(w.d.Text(a), w.d.Text(a))", inReader, "TestWhatIsOnlyMixedIsPutInOrder"},
		{"tokens-in-use", "policy/document/reader.go", "r.used = append(r.used, tape)", "r.free = append(r.free, tape)", inReader, "TestAReaderKeepsWhatIsInUse"},
		{"tokens-of-another", parse, "t.Kind, t.Class, t.Plain, t.ASCII = kind, 0, false, false", "t.Kind = kind", inReader, "TestAReaderKeepsWhatIsInUse"},
		{"records-of-other-names", alike, "gap := int(t.Start) - was\n\t\t\tif !equal(raw, was, pos, gap) {", "gap := int(t.Start) - was\n\t\t\tif pos+gap > len(raw) {", inReader, "TestRecordsThatDiffer"},
		{"records-that-go-on", alike, "gap := int(old[0].End) - was\n\tif !equal(raw, was, pos, gap) {", "gap := int(old[0].End) - was\n\tif pos+gap > len(raw) {", inReader, "TestRecordsThatDiffer"},
		{"records-of-other-classes", alike, "own[k].Class != t.Class {", "false {", inReader, "TestRecordsAreRecognised"},
		{"records-inside-of-others", alike, "\t\t\town[k].Class = 0\n", "", inReader, "TestRecordsAreRecognised"},
		{"strings-of-a-known-length", alike, "(word^ones*'\"')+most", "uint64(high)", inReader, "TestRecordsThatDiffer"},
		{"escapes-of-a-known-length", alike, "(word^ones*'\\\\')+most", "uint64(high)", inReader, "TestRecordsThatDiffer"},
		{"controls-of-a-known-length", alike, " & (word + ones*(0x80-' '))", "", inReader, "TestRecordsThatDiffer"},
		{"reading-in-vain", alike, "return len(raw)/16 + 256", "return 1 << 40", inReader, "TestLittleIsReadInVain"},
		{"records-and-what-they-say", "host/effect/shape.go", "h.items.open && e.Class", "e.Class", "./host/effect", "TestEachRecordIsHeldAgainstItsSchema"},
		{"records-and-sensitive-names", "policy/redact/build.go", "b.special < i-(next-i)", "true", "./policy/redact", "TestANameIsSensitiveInEveryRecord"},
		{"records-that-are-all-there-is", "policy/redact/build.go", " && i > b.doc.Root()", "", "./policy/redact", "TestANameIsSensitiveInARecordThatIsAllThereIs"},
		{"records-and-their-strings", "policy/redact/build.go", "\t\t\t\tb.strings(i+1, t.Next)\n", "", "./policy/redact", "TestAStringIsLookedAtInEveryRecord"},
		{"canonical-numbers", scalar, " || string(p.raw[pos:at]) == \"-0\"", "", inReader, "TestOnlyWhatIsCanonicalIsSaidToBe"},
	}
}
