package main

const (
	inRedact = "./policy/redact"
	inApp    = "./cli/internal/app"
)

// finding is what lets the redactor see a value.
func finding() []guard {
	const dir = "policy/redact/"
	in := func(name, file, old, new, test string) guard {
		return guard{name, dir + file, old, new, inRedact, test}
	}
	planted := func(name, file, old, new string) guard {
		return in("encoding-"+name, file, old, new, "TestPlantedSecretAppearsInNoView")
	}
	family := func(name, sign string) guard {
		return planted(name, "unescape.go", "\tcase "+sign+":\n\t\treturn "+name+"\n", "\tcase "+sign+":\n\t\treturn 0\n")
	}
	return []guard{
		family("percent", `'%'`),
		family("backslash", `'\\'`),
		family("entity", "'&'"),
		family("printable", "'='"),
		family("quotes", `'\''`),
		family("plus", "'+'"),
		planted("base64", "runs.go", "out = f.base64(text, i, end, levels, out)", "_ = levels"),
		planted("base64-alignments", "runs.go", "for shift := range min(4, len(r.digits)) {", "for shift := range min(1, len(r.digits)) {"),
		planted("base64-url", "runs.go", "case c == '+' || c == '-':", "case c == '+':"),
		planted("base64-wrapped", "runs.go", "next := wrapped(text, i)", "next := i"),
		planted("hex", "runs.go", "out = f.hex(text, i, end, levels, out)", "_ = levels"),
		planted("hex-gaps", "runs.go", "case hexPrefix(text, i), isHexGap(text, i):", "case hexPrefix(text, i):"),
		planted("utf16", "set.go", "out = append(out, string(le), string(be), backwards(value))", "out = append(out, backwards(value))"),
		planted("backwards", "set.go", "string(be), backwards(value))", "string(be))"),
		planted("base64-backwards", "set.go", "\t\tout = append(out, backwards(once))\n", ""),
		planted("in-each-other", "find.go", "const depth = 3", "const depth = 1"),
		in("longest-first", "search.go", "return len(y.text) - len(x.text)", "return len(x.text) - len(y.text)", "TestOverlappingSecretsLeaveNoTail"),
		in("hold-back", "stream.go", "return 256 + 10*s.set.of().longest", "return 16", "TestStreamFindsASecretSplitAtEveryByte"),
		in("words-together", "stream.go", "\tuntil = s.word(until)\n", "", "TestStreamKeepsAWordTogether"),
		in("everywhere", "build.go", "if len(b.harvested) > 0 {", "if false {", "TestWhatOnePlaceGivesAwayIsRemovedEverywhere"),
		in("behind-a-scheme", "harvest.go", "\t\tscheme = n == 0 && isScheme(part)\n", "", "TestTheCredentialInAValueIsHiddenAlone"),
		in("fixed-failure", "views.go", "views, err = Failed(), errInternal", "views, err = Views{}, errInternal", "TestFailureShowsNothing"),
		in("masks-as-objects", "sentinel.go", "containsMask(text) || containsMaskValue(text)) {", "containsMask(text)) {", "TestAMaskIsFoundHoweverItIsWritten"),
		in("masks-anywhere", "sentinel.go", "i += n - 1 {", "i += n {", "TestAMaskIsFoundWhereverItStands"),
		in("encoded-masks", "sentinel.go", "if run && len(f.runs(text, levels, nil)) > 0 {", "if run && levels < 0 {", "TestAMaskIsFoundHoweverItIsWritten"),
		in("tokens-in-pieces", "shapes.go", "(s.asPublished(body) || !s.only && irregular(body))", "s.asPublished(body)", "TestATokenInPiecesIsStillOne"),
		in("another-start-of-a-key", "shapes.go", "!s.only && irregular(body)", "irregular(body)", "TestATokenInPiecesIsStillOne"),
		in("short-parts", "shapes.go", "return len(part) >= 8 && placeholder", "return placeholder", "TestATokenInPiecesIsStillOne"),
		in("hosts-own-values", "said.go", "if m := known.marks[x.mark]; m.source == Bound {", "if m := known.marks[x.mark]; m.source != \"\" {", "TestHoldsAsksForTheHostsOwnValues"),
	}
}

// hiding is every way out on which something is hidden.
func hiding() []guard {
	return []guard{
		{"told-whole-id", "host/id/id.go", "\tif len(text) > 80 {\n\t\ttext = fmt.Sprintf(\"a text of %d bytes\", len(text))", "\tif len(text) > 80 {\n\t\ttext = text[:80]", "./host/id", "TestWhatIsNoIDIsNotToldInPart"},
		{"told-whole-capability", "policy/capability/family.go", "\t\ttext = fmt.Sprintf(\"a text of %d bytes\", len(text))", "\t\ttext = text[:80]", "./policy/capability", "TestWhatIsNoCapabilityIsNotToldInPart"},
		{"told-whole-rule", "policy/approval/compile.go", "\t\treturn fmt.Sprintf(\"a text of %d bytes\", len(s))", "\t\treturn s[:80]", "./policy/approval", "TestWhatIsNoRuleIsNotToldInPart"},
		{"told-whole-mode", "policy/approval/mode.go", "\t\ttext = fmt.Sprintf(\"a text of %d bytes\", len(text))", "\t\ttext = text[:40]", "./policy/approval", "TestWhatIsNoRuleIsNotToldInPart"},
		{"told-whole-name", "host/secret/name.go", "&NameError{fmt.Sprintf(\"a text of %d bytes\", len(text)), want}", "&NameError{fmt.Sprintf(\"%.64s\", text), want}", "./host/secret", "TestWhatIsNoNameIsNotToldInPart"},
		{"told-whole-file", "host/core/fault.go", "return fmt.Sprintf(\"a text of %d bytes\", len(s))", "return fmt.Sprintf(\"%q\", s[:limit])", "./host/core", "TestNoFaultTellsATextInPart"},
		{"told-whole-number", "host/effect/arguments.go", "return fmt.Sprintf(\"a number of %d characters\", len(literal))", "return literal[:40]", inEffect, "TestANumberIsNotToldInPart"},
		{"told-whole-word", "policy/command/finding.go", "return by + \"…\"", "return w[:limit] + by[:0]", "./policy/command", "TestNoWordIsToldInPart"},
		{"told-whole-method", "host/net/exchange.go", "return \"(none)\"", "return method[:16]", inNet, "TestAMethodIsToldWholeOrNotAtAll"},
		{"refused-method-unnamed", "policy/egress/policy.go", "does not allow %s\", r.Host, named(method))", "does not allow %.16s%.0s\", r.Host, method, named(method))", inNet, "TestAMethodIsToldWholeOrNotAtAll"},
		{"secret-in-a-method", "host/net/exchange.go", " || p.call.Holds([]byte(req.Method))", "", inNet, "TestARequestWithASecretOfTheHostIsRefused"},
		{"words-before-the-cut", "host/effect/invoke.go", `t.Name+" failed: "+out.Detail`, `t.Name+" failed: "+out.Detail[:min(len(out.Detail), 2000)]`, inEffect, "TestNoBoundCutsASecretInTwo"},
		{"stages", "host/effect/execute.go", "p.set().Short(redact.ForOperator, v.why, maxWords)", "v.why", inEffect, "TestNoBoundCutsASecretInTwo"},
		{"reasons-on-record", "host/effect/invoke.go", "p.end.reason = set.Short(redact.ForEvent, p.end.reason, maxReason)", "_ = maxReason", inEffect, "TestNoBoundCutsASecretInTwo"},
		{"names-on-record", "host/effect/execute.go", "p.result.Tool = p.set().Short(redact.ForEvent, name, 64)", "p.result.Tool = name", inEffect, "TestWhatAModelMadeUpIsRedactedOnRecord"},
		{"calls-on-record", "host/effect/execute.go", "p.result.CallID = p.set().Short(redact.ForModel, req.CallID, 128)", "p.result.CallID = req.CallID", inEffect, "TestWhatAModelMadeUpIsRedactedOnRecord"},
		{"failed-views", "host/effect/invoke.go", "res.Views = redact.Failed()", "res.Views = redact.Views{}", inEffect, "TestARedactorThatFailsHidesEveryViewAndLeavesTheStatus"},
		{"plugin-log", "host/effect/execute.go", "Message: set.Text(redact.ForOperator, rec.Message)", "Message: rec.Message", inEffect, "TestThePluginsLogIsHandedOnRedacted"},
		{"host-log", "host/log.go", "shown := set.Named(redact.ForOperator, name, text)", "shown := text + name[:0]", inHost, "TestTheHostsLogHidesValuesBeforeALoggerLaysThemOut"},
		{"log-redaction", "cli/internal/app/log.go", "shown = w.hide(w.part)", "shown = append([]byte{}, w.part...)", inApp, "TestTheLogFindsASecretSplitAtEveryByte"},
		{"log-entries", "cli/internal/app/log.go", `if !bytes.HasSuffix(p, []byte("\n")) {`, "if len(p) == 0 {", inApp, "TestTheLogFindsASecretSplitAtEveryByte"},
		{"stored-arguments", "host/turn/hide.go", "m.Parts[i].Call.Arguments = w.catalog.Replay(p.Call.Arguments)", "_ = i", inCommand, "TestASecretInElevenPlacesIsSeenNowhere"},
		{"streamed-answer", "host/turn/calls.go", "text := stream.Push([]byte(e.Text)); len(text) > 0", "text := []byte(e.Text); len(text) > 0", inCommand, "TestASecretInElevenPlacesIsSeenNowhere"},
		{"origins-on-record", "host/audit.go", "hidden(egressFields(d), call.Redactor())", "egressFields(d)", inCommand, "TestAnOriginMadeOfASecretIsHiddenOnRecord"},
		{"secrets-in-requests", "host/net/exchange.go", "if p.leaks(req, body) {", "if false {", inNet, "TestARequestWithASecretOfTheHostIsRefused"},
		{"printed-failures", "cli/internal/command/main.go", "*text = set.Text(redact.ForOperator, *text)", "_, _ = set, text", inCommand, "TestWhatTheProgramPrintsOfAFailureIsRedacted"},
		{"panics-of-the-program", "cli/internal/command/main.go", "if fault := recover(); fault != nil {", "if fault := any(nil); fault != nil {", inCommand, "TestWhatTheProgramPrintsOfAFailureIsRedacted"},
	}
}
