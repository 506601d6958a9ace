package main

import "slices"

// The packages whose tests notice.
const (
	inBinary  = "./host/sandbox/wasmbin"
	inSandbox = "./host/sandbox"
	inEffect  = "./host/effect"
	inHost    = "./host"
	inNet     = "./host/net"
	inHostile = "./conformance/hostile"
	inCrash   = "./conformance/crash"
	inSQLite  = "./store/sqlite"
	inCodec   = "./sdk/internal/codec"
	inPrompt  = "./host/prompt"
	inMemory  = "./store/memory"
	inRules   = "./policy/approval"
	inGate    = "./host/approval"
	inEvasion = "./conformance/evasion"
	inConsole = "./cli/internal/console"
	inCommand = "./cli/internal/command"
	inTurn    = "./host/turn"
	inOutbox  = "./host/outbox"
	inTask    = "./host/task"
)

// table is every guard, in the order a module and its call meet them.
func table() []guard {
	return slices.Concat(
		reading(),
		finding(), hiding(),
		verifying(), metering(), loading(), calling(), answering(),
		deciding(), approving(), authority(), reaching(), keeping(),
		surviving(), running(),
		delivering(), recovering(), working(), tasking(),
	)
}

// verifying is what stands before the engine reads a byte.
func verifying() []guard {
	const dir = "host/sandbox/wasmbin/"
	refusal := func(name, file, old, new, test string) guard {
		return guard{name, dir + file, old, new, inBinary, "TestRefusals/" + test}
	}
	return []guard{
		refusal("vector-count", "reader.go", "if uint64(n)*uint64(minItem) > uint64(r.left()) {", "if false {", "huge_count_of_types"),
		refusal("long-number", "reader.go", `r.fail(CodeNumber, "it has a number of more than 32 bits")`, "", "number_too_long"),
		refusal("name-utf8", "reader.go", "if r.no == nil && !utf8.Valid(b) {", "if r.no != nil && !utf8.Valid(b) {", "bad_name"),
		refusal("locals", "read_code.go", "sum > uint64(d.l.Locals) {", "false {", "huge_locals"),
		refusal("locals-and-blocks", "read_code.go", "case n > l.LocalBlocks:", "case n < 0:", "locals_times_blocks"),
		refusal("nesting", "read_code.go", "case len(w.open) > l.Nesting:", "case false:", "deep_nesting"),
		refusal("branch-tables", "read_code.go", "w.branches > l.BranchTable {", "false {", "large_branch_table"),
		refusal("tables", "read_sections.go", "d.entries += room; r.no == nil && d.entries > uint64(d.l.TableEntries) {", "d.entries += room; false {", "large_table"),
		{"effort", dir + "read_code.go", "if r.no == nil && d.effort > d.l.Effort {", "if false {", inBinary, "TestOwnLimits"},
	}
}

// metering is what lets the host stop a guest.
func metering() []guard {
	return []guard{
		{"name-of-the-fuel", "host/sandbox/wasmbin/meter.go", "if e.Name == opt.FuelExport || ", "if ", inHostile, "TestHostile/abi/shadow-fuel"},
		{"loops-pay", "host/sandbox/wasmbin/meter_code.go", "mt.charge(w, charge{cost: c.cost})\n\tmt.report.Checks++", "mt.report.Checks++", inHostile, "TestHostile/resource/spin"},
		{"trees-pay", "host/sandbox/wasmbin/meter_code.go", "if c.cost > 0 {", "if c.cost < 0 {", inHostile, "TestHostile/resource/call-tree"},
		{"slice", "host/sandbox/meter.go", "slice := max(fuelSlice, -left)", "slice := max(1<<60, -left)", inHostile, "TestHostile/resource/spin"},
		{"stack", "host/sandbox/meter.go", "if left == wasmbin.StackPassed {", "if false {", inHostile, "TestHostile/resource/mutual-recursion"},
		{"deadline", "host/sandbox/spend.go", "\tif ctx.Err() != nil {\n\t\tst.stop(trapped(\"call_is_over\"))", "\tif false {\n\t\tst.stop(trapped(\"call_is_over\"))", inHostile, "TestHostile/resource/spin"},
		{"frames-are-taken", "host/sandbox/wasmbin/frame.go", "\tw.signed(f.size)\n\tw.byte(opI64Sub)", "\tw.signed(0)\n\tw.byte(opI64Sub)", inSandbox, "TestStackIsGivenBack"},
		{"frames-of-exceptions", "host/sandbox/wasmbin/frame.go", "\tif f.caught {\n\t\tmt.restore(w, f)\n\t}\n\tw.indexed", "\tw.indexed", inSandbox, "TestCaughtExceptionsGiveStackBack"},
		{"large-frames", "host/sandbox/wasmbin/frame.go", "\t\tcase opLocalSet, opLocalTee, opCall, opCallIndirect:\n\t\t\tslots++", "\t\tcase opUnreachable:\n\t\t\tslots++", inSandbox, "TestLargeFramesCountForMore"},
		{"frames-as-compiled", "host/sandbox/frames.go", "\t\t\tstack = min(stack, room*c/taken[i])", "\t\t\t_ = room", inHostile, "TestHostile/resource/frames-by-operands"},
		{"frames-not-counted", "host/sandbox/frames.go", "wasmbin.MaxUncounted*mostFree", "wasmbin.MaxUncounted*0*mostFree", inSandbox, "TestStackForWhatFramesTake"},
		{"stack-of-the-module", "host/sandbox/instance.go", "Set(uint64(code.stack))", "Set(maxStack)", inHostile, "TestHostile/resource/frames-by-vectors"},
		{"name-of-the-stack", "host/sandbox/wasmbin/meter.go", "opt.StackExport != \"\" && e.Name == opt.StackExport || ", "", inSandbox, "TestHiddenThingsStayHidden"},
		{"long-bulk", "host/sandbox/wasmbin/bulk.go", "const bulkChunk = 1 << 20", "const bulkChunk = 1 << 30", inSandbox, "TestLongBulkInstructionsAreSplit"},
		{"bulk-pays", "host/sandbox/wasmbin/bulk.go", "charge{cost: bulkChunk >> bulkShift, check: true}", "charge{cost: 1, check: true}", inSandbox, "TestSplittingCostsNoFuel"},
		{"host-calls-end", "host/sandbox/spend.go", "\t\tst.hostSince = 0\n\t\tst.overdue(ctx)", "\t\tst.hostSince = 0", inSandbox, "TestGuestsThatKeepTheHostBusyStopAtTheDeadline"},
		{"host-calls-pay", "host/sandbox/spend.go", "\tst.hostFuel += units", "\tst.hostFuel += 0 * units", inSandbox, "TestHostWorkSpendsFuel"},
	}
}

// loading is what a module must be to become a plugin.
func loading() []guard {
	return []guard{
		{"abi", "host/sandbox/load.go", "if m.ABI != wire.ABI {", "if false {", inSandbox, "TestManifestMustFitTheBinary"},
		{"digest", "host/sandbox/load.go", "if digest != m.Wasm.SHA256 || ", "if ", inSandbox, "TestManifestMustFitTheBinary"},
		{"withheld", "host/sandbox/imports.go", `case known.Refused != "":`, "case false:", inHostile, "TestHostile/authority/http-request"},
		{"undeclared", "host/sandbox/imports.go", "if sp.declared != nil && ", "if sp.declared == nil && ", inHostile, "TestHostile/authority/undeclared-import"},
		{"not-granted", "host/sandbox/imports.go", "!sp.granted.Has(need) && !sp.describing {", "need == 0xff && !sp.describing {", inSandbox, "TestUngrantedImportsAreRefused"},
		{"type-of-the-entry", "host/sandbox/imports.go", "if !t.equal(nil, []byte{valueI32}) {", "if t.equal(nil, nil) && !t.equal(nil, nil) {", inSandbox, "TestEntryPointsAreChecked"},
		{"memory-at-the-start", "host/sandbox/imports.go", "need > uint64(sp.limits.Memory) {", "need > 1<<40 {", inSandbox, "TestStartingMemoryIsHeldToTheLimit"},
		{"owner-of-cached-code", "host/sandbox/entry.go", " && !writableByOthers(info) && ownedByUs(info)", " && !writableByOthers(info)", inSandbox, "TestAnotherUsersFileIsNotBelieved"},
		{"digest-of-cached-code", "host/sandbox/entry.go", "if err == nil && digest != mark.Digest {", "if err == nil && len(digest) == 0 {", inSandbox, "TestADamagedEntryIsMadeAnew"},
		{"parts-of-cached-code", "host/sandbox/digest.go", "h.Write(data)", "h.Write(data[:len(data)/2])", inSandbox, "TestPartsAreHashedInOrder"},
		{"end-of-the-compiler", "host/sandbox/compiler.go", "exec.CommandContext(ctx, c.Path,", "exec.CommandContext(context.WithoutCancel(ctx), c.Path,", inSandbox, "TestTheCompilerIsKilledAtItsDeadline"},
		{"deadline-of-the-compiler", "host/sandbox/compile.go", "WithTimeoutCause(ctx, e.cfg.CompileTimeout, errCompileTime)", "WithTimeoutCause(ctx, e.cfg.CompileTimeout+16*time.Second, errCompileTime)", inSandbox, "TestACompilerThatSleepsIsKilled"},
		{"compiler-processor", "host/sandbox/compiler_limits_linux.go", "uint64(o.CPUSeconds)", "uint64(o.CPUSeconds)*1000", inSandbox, "TestTheCompilerIsConfined"},
		{"compiler-memory", "host/sandbox/compiler_limits_linux.go", "mapped+uint64(o.Memory)+childSlack", "mapped+1<<40", inSandbox, "TestTheCompilerIsConfined"},
	}
}

// calling is what a running guest meets.
func calling() []guard {
	return []guard{
		{"closing", "host/sandbox/spend.go", "\t\tst.abort(errClosing)", "", inSandbox, "TestCloseEndsCallsThatWaitForNobody"},
		{"memory", "host/sandbox/memory.go", "if n > b.limit-b.used {", "if false {", inSandbox, "TestBudgetCannotWrap"},
		{"output-size", "host/sandbox/callstate.go", "if n > uint64(st.outputLimit) {", "if false {", inSandbox, "TestInputAndOutputLimits"},
		{"store-range", "host/sandbox/callstate.go", "b, ok := st.arena.edit(addr, n)\n", "b, ok := st.arena.edit(addr, n)\n\tok = ok || n == 8\n\tif b == nil {\n\t\tb = make([]byte, n)\n\t}\n", inHostile, "TestHostile/abi/store-header"},
		{"log-lines", "host/sandbox/ability_basic.go", "if s.stats.LogLines >= s.limits.LogLines || s.logBytes >= maxLogTotal {", "if false {", inSandbox, "TestLogIsBoundedAndEscaped"},
		{"host-calls", "host/sandbox/session.go", "s.stats.HostCalls > s.limits.HostCalls {", "false {", inHostile, "TestHostile/resource/emit-flood"},
		{"http-calls", "host/sandbox/ability_http.go", "case s.stats.HTTPCalls >= s.limits.HTTPCalls:", "case false:", inHostile, "TestHostile/resource/http-flood"},
		{"start-has-no-authority", "host/sandbox/session.go", "if s.starting && !a.early {", "if false {", inHostile, "TestHostile/authority/initialize-call"},
		{"tool-has-its-own", "host/sandbox/session.go", "if !s.opt.Abilities.Has(a.needs) {", "if false {", inHostile, "TestHostile/authority/tool-without-need"},
		{"keys-of-the-plugin", "host/sandbox/adapter.go", "KVScope{Plugin: a.plugin.Name(), ", "KVScope{", inHostile, "TestHostile/authority/key-of-another"},
		{"paths", "host/sandbox/workspace.go", "!fs.ValidPath(p) || ", "", inHostile, "TestHostile/authority/file-above"},
		{"links", "host/sandbox/workspace.go", "\tif !seen.IsDir() {", "\tif false {", inHostile, "TestHostile/authority/file-through-link"},
		{"sensitive-files", "host/sandbox/workspace.go", "case sensitive(p, writing):", "case false:", inHostile, "TestHostile/authority/file-secret"},
		{"no-call-in-a-call", "host/sandbox/call.go", "case ctx.Value(insideKey{}) != nil:", "case false:", inSandbox, "TestCallFromInsideACallIsRefused"},
		{"fresh-state", "host/sandbox/pool.go", "keep := clean && in.reset()", "keep := clean", inHostile, "TestHostile/authority/stale-state"},
		{"fresh-globals", "host/sandbox/snapshot.go", "\t\tg.Set(s.globals[i])\n", "\t\t_, _ = i, g\n", inSandbox, "TestGlobalsOfACallAreGone"},
		{"unclean-instances", "host/sandbox/pool.go", "keep := clean && in.reset()", "keep := in.reset()", inSandbox, "TestInstancesOfUncleanCallsAreDiscarded"},
		{"wasi-buffers", "host/sandbox/spend.go", "\t\t\tif n > maxIovecs {", "\t\t\tif false {", inSandbox, "TestWhatAGuestMayAskForAtOnce"},
		{"wasi-subscriptions", "host/sandbox/spend.go", "\t\t\tif n > maxSubscriptions {", "\t\t\tif false {", inSandbox, "TestWhatAGuestMayAskForAtOnce"},
		{"wasi-randomness", "host/sandbox/spend.go", "\t\t\tif t := st.session.takeRandom(int64(n)); t != nil {", "\t\t\tif t := st.session.takeRandom(0); t != nil {", inSandbox, "TestWhatAGuestMayAskForAtOnce"},
		{"shared-memory", "host/sandbox/memory.go", "\tif p.used.Add(n) > p.limit {", "\tif p.used.Add(n) > p.limit && false {", inSandbox, "TestAllCallsShareTheirMemory"},
		{"calls-of-a-plugin", "host/sandbox/engine.go", "cfg.PluginCalls = max(1, cfg.MaxCalls*3/4)", "cfg.PluginCalls = cfg.MaxCalls", inSandbox, "TestOnePluginLeavesRoomForOthers"},
		{"ports-end-first", "host/sandbox/session.go", "deadline.Add(-min(hostMargin, time.Until(deadline)/10))", "deadline", inSandbox, "TestAGuestHearsOfATimeoutBeforeItsOwn"},
		{"values-moved", "host/sandbox/ability_kv.go", "\tif s.kvBytes+int64(n) > maxKVBytes {", "\tif false {", inSandbox, "TestACallMovesABoundedAmountOfValues"},
		{"said-hidden-before-cut", "host/sandbox/said.go", "\ts := redact.NewStream(set, to)\n", "\ts := redact.NewStream(redact.Set{}, to)\n", inSandbox, "TestNothingSecretOfAGuestIsCutThrough"},
		{"raw-log-hidden-before-cut", "host/sandbox/callstate.go", "st.session.keepLog(level, b, nil)", "st.session.keepLog(level, b[:min(len(b), 4<<10)], nil)", inSandbox, "TestNothingSecretOfAGuestIsCutThrough"},
		{"stderr-hidden", "host/sandbox/said.go", "\t\tout = append(bytes.Clone(s.Push(out)), s.Flush()...)", "\t\tout = bytes.Clone(out)", inSandbox, "TestNothingSecretIsLeftWhereStderrBegins"},
		{"stderr-hidden-where-it-begins", "host/sandbox/said.go", "\t\tif cut {", "\t\tif cut = false; cut {", inSandbox, "TestNothingSecretIsLeftWhereStderrBegins"},
		{"stderr-of-a-call", "host/sandbox/callstate.go", "\tst.stderr.hides = session.opt.Redactor\n", "", inSandbox, "TestNothingSecretIsLeftWhereStderrBegins"},
		{"said-of-the-call", "host/sandbox/adapter.go", "\t\tRedactor:    call.Redactor,\n", "", inSandbox, "TestAnAdapterHidesBeforeItCuts"},
		{"vendors-words", "host/turn/hide.go", "w.known().Text(to, sentence)", "w.known().Text(to, strings.Join(strings.Fields(sentence), \" \"))", "./host/turn", "TestAVendorsSentenceShowsNoSecret"},
		{"vendors-words-whole", "host/provider/errors.go", ` && r != '\n' && r != '\r' && r != '\t'`, "", "./host/provider", "TestScrubRemovesSecretsAndShapes"},
		{"vendors-request", "host/turn/step.go", "w.known().Short(redact.ForDurable, resp.ProviderRequestID, 256)", "resp.ProviderRequestID[:min(256, len(resp.ProviderRequestID))]", "./host/turn", "TestAVendorsRequestIDShowsNoSecret"},
		{"stderr", "host/sandbox/said.go", "\tif len(t.kept)+len(p) > 2*t.most {", "\tif false {", inSandbox, "TestTailKeepsTheEnd"},
		{"log-bytes", "host/sandbox/ability_basic.go", "\tif s.logBytes+int64(size) > maxLogTotal {", "\tif false {", inSandbox, "TestLogTotalIsBounded"},
		{"tables-are-pinned", "host/sandbox/wasmbin/module.go", "\t\t\tl.Max, l.HasMax = l.Min, true", "\t\t\tl.Max, l.HasMax = l.Min, false", inSandbox, "TestOutcomeOfEachEnding"},
		{"file-bytes", "host/sandbox/ability_fs.go", "\tif s.stats.FileBytes+n > s.limits.FileBytes {", "\tif false {", inSandbox, "TestFileBytesAreBudgeted"},
		{"http-bytes", "host/sandbox/ability_http.go", "\ts.stats.HTTPBytes += int64(len(answer))", "\ts.stats.HTTPBytes += 0", inSandbox, "TestResponsesShareTheirBytes"},
		{"input-of-a-port", "host/sandbox/arena.go", "b.data, b.borrowed = slices.Clone(b.data), false", "b.borrowed = false", inSandbox, "TestNobodyElseHoldsWhatAPortIsGiven"},
		{"progress", "host/sandbox/ability_basic.go", "now.Sub(last) < progressEvery {", "now.Sub(last) < 0 {", inSandbox, "TestProgressIsRateCappedAndTheLastArrives"},
	}
}

// answering is what an answer must be to be a result.
func answering() []guard {
	return []guard{
		{"output-is-set", "host/sandbox/call.go", "case !st.outputSet:", "case false:", inHostile, "TestHostile/abi/zero-without-output"},
		{"return-code", "host/sandbox/call.go", "case rc != 0:", "case false:", inHostile, "TestHostile/abi/code-with-output"},
		{"schema", "host/effect/invoke.go", "if faults := schema.check(&read); len(faults) > 0 {", "if faults := schema.check(&read); false {", inHostile, "TestHostile/abi/wrong-schema"},
		{"numbers", "host/effect/ports.go", "ordinaryNumbers(&o.Read) && ", "", inHostile, "TestHostile/abi/huge-number"},
		{"schema-of-one-turn", "host/effect/schemas.go", "\t\ts.free[string(raw)] = kept[:n-1]\n", "", inEffect, "TestACompiledSchemaIsOneTurnsAtATime"},
		{"schemas-are-bounded", "host/effect/schemas.go", "s.free == nil || s.bytes+len(raw) > maxPooled", "s.free == nil", inEffect, "TestKeptSchemasAreBounded"},
		{"schema-pays", "host/effect/schema_cost.go", "if m.left -= n; m.left < 0 {", "if m.left -= n; false {", inEffect, "TestASchemaIsPaidFor"},
		{"guest-words", "host/sandbox/call.go", "return fit(st.errorText, maxErrorText, known(st.session.opt.Redactor), redact.ForOperator)", "_ = redact.ForOperator\n\t\treturn string(st.errorText)", inSandbox, "TestGuestTextIsBoundedAndEscaped"},
		{"redaction", "host/effect/invoke.go", "set.Short(redact.ForOperator, p.end.why, maxWords)", "p.end.why", inHostile, "TestHostile/authority/secret-in-error"},
		{"words-of-the-start", "host/sandbox/instance.go", "in.around.enter(ctx, &st.stderr, 0)", "in.around.enter(ctx, &tail{}, 0)", inSandbox, "TestAFailingStartSaysWhy"},
		{"end-of-the-words", "host/sandbox/call.go", " + escapeEnd(text, maxErrorText/2)", "", inSandbox, "TestAFailingStartSaysWhy"},
		{"collector-pointers", "sdk/internal/codec/decode.go", "at := unsafe.Pointer(to.UnsafeAddr())", "at := unsafe.Pointer(unsafe.SliceData(make([]byte, to.Type().Size()+1)))", inCodec, "TestTheCollectorSeesWhatWasDecoded"},
		{"collector-lists", "sdk/internal/codec/decode.go", "\t\t\tlist.Grow(max(n, 4))\n", hiddenList, inCodec, "TestTheCollectorSeesWhatWasDecoded"},
		{"collector-maps", "sdk/internal/codec/decode.go", "elem := unsafe.Pointer(reflect.New(p.Elem.Type).Elem().UnsafeAddr())", "elem := unsafe.Pointer(unsafe.SliceData(make([]byte, p.Elem.size+1)))", inCodec, "TestTheCollectorSeesWhatWasDecoded"},
	}
}

// hiddenList grows a list in memory that the collector takes for bytes.
const hiddenList = `
			old, room := *(*[]byte)(v), max(2*n, 4)
			grown := make([]byte, uintptr(room)*p.Elem.size+1)
			copy(grown, unsafe.Slice(unsafe.SliceData(old), uintptr(n)*p.Elem.size))
			*(*[]byte)(v) = unsafe.Slice(unsafe.SliceData(grown), room)
`

// deciding is what the gate asks before anything runs.
func deciding() []guard {
	return []guard{
		{"kept-secrets-hidden", "host/hidden.go", "named.With(kept...)", "named.With()", inHost, "TestWhatIsSecretIsHiddenWhetherBoundOrNot"},
		{"masks-in-arguments", "host/effect/steps.go", "if redact.ContainsSentinel(args.Bytes()) {", "if false {", inHostile, "TestHostile/authority/mask-in-arguments"},
		{"one-tool-of-a-name", "host/effect/catalog.go", "if have, ok := c.entries[t.Name]; ok {", "if have, ok := c.entries[t.Name]; ok && have == nil {", inHostile, "TestHostile/authority/name-of-another"},
		{"network-grants", "host/net/plugin.go", "if !slices.ContainsFunc(uses, p.call.Grants.Allows) {", "if false {", inNet, "TestEachLayerAloneRefuses/no_grant"},
		{"network-core", "host/net/plugin.go", "if !slices.ContainsFunc(uses, p.call.Capabilities.Allows) {", "if false {", inNet, "TestEachLayerAloneRefuses/no_capability"},
		{"replaced-in-one-step", "host/plugin/replace.go", "if f.inOneStep(root, temp, id, version) == nil {", "if false {", "./host/plugin", "TestAReplacementThatIsCutOffLeavesOneOfTheTwo"},
		{"changed-binary", "host/plugin/read.go", "int64(len(wasm)) != m.Wasm.Size || hex.EncodeToString(sum[:]) != m.Wasm.SHA256 {", "hex.EncodeToString(sum[:]) == m.Wasm.SHA256+\"x\" {", inHostile, "TestHostile/authority/changed-after-install"},
	}
}

// approving is what stands between a question and what runs under its answer.
func approving() []guard {
	return []guard{
		{"operands-are-looked-at-again", "host/effect/plan.go", "\tif p.digest == approved {", "\tif approved != \"\" {", inEffect, "TestAnOperandThatChangesDoesNotRun"},
		{"plans-have-a-form", "host/effect/plan.go", "\tif why := plan.fault(); why != \"\" {", "\tif why := plan.fault(); false {", inEffect, "TestAPlanThatCannotBeOneDenies"},
		{"operands-are-approved", "host/effect/plan.go", "\t\ttext(o.SHA256)\n", "", inEffect, "TestEveryPartOfAPlanIsInItsDigest"},
		{"masked-words-are-not-approved", "host/effect/steps.go", "\t\tif f.Source != redact.Bound {", "\t\tif false {", inEffect, "TestAMaskedPlanCannotBeApproved"},
		{"allowed-is-on-record", "host/effect/steps.go", "\tif d.Allowed && d.Approval == \"\" {", "\tif false {", inEffect, "TestAnAllowanceWithoutItsQuestionStartsNothing"},
		{"once-is-once", "store/internal/rule/approval.go", "\tcase !q.Used.IsZero():", "\tcase false:", inMemory, "TestContract"},
		{"for-the-very-call", "store/internal/rule/approval.go", "\tcase !own:", "\tcase !own && false:", inMemory, "TestContract"},
		{"key-principal", "policy/approval/key.go", "Key{scope.PrincipalID(), session, b.Core,", "Key{\"\", session, b.Core,", inEvasion, "TestAnAllowanceCoversNothingElse/principal"},
		{"approvers-of-the-doubted", "store/memory/approval.go", "home.owner != nil && !home.legacy &&", "home.owner != nil &&", inMemory, "TestContract"},
		{"approvers-of-the-doubted-in-sql", "store/sqlite/approval.go", ".session_id AND o.legacy = 0 AND ?", ".session_id AND ?", "./store/sqlite", "TestContract/a_question_is_decided_by_those_who_may"},
		{"key-core-in-the-fingerprint", "policy/approval/key.go", "\t\tb.Core, b.Revision,", "\t\tb.Revision,", "./policy/approval", "TestKeyChangesWithEveryPart"},
		{"key-session", "policy/approval/key.go", "Key{scope.PrincipalID(), session, b.Core,", "Key{scope.PrincipalID(), \"\", b.Core,", inEvasion, "TestAnAllowanceCoversNothingElse/session"},
		{"key-fingerprint", "policy/approval/key.go", "b.Core, b.Fingerprint(), rule}", "b.Core, \"\", rule}", inEvasion, "TestAnAllowanceCoversNothingElse/revision"},
		{"key-rule", "policy/approval/key.go", "b.Core, b.Fingerprint(), rule}", "b.Core, b.Fingerprint(), \"\"}", inEvasion, "TestAnAllowanceCoversNothingElse/argument"},
		{"key-policy", "policy/approval/key.go", "b.Definition, b.Policy,", "b.Definition,", inEvasion, "TestAnAllowanceCoversNothingElse/policy"},
		{"key-definition", "policy/approval/key.go", "b.Definition, b.Policy,", "b.Policy,", inRules, "TestKeyChangesWithEveryPart"},
		{"risky-tools-name-their-input", "policy/approval/rules.go", "\tif e.Risk.AtLeast(High) {", "\tif false {", inEvasion, "TestAnAllowanceCoversNothingElse/argument"},
		{"critical-each-time", "host/effect/decide.go", "ok && !e.Risk.AtLeast(approval.Critical) && ", "ok && ", inEvasion, "TestEvasions/F27_for_the_session_where_that_was_not_offered"},
		{"wrappers-each-time", "host/effect/decide.go", "(p.planned == nil || p.planned.Cacheable)", "true", inEvasion, "TestEvasions/F23_always_env_true"},
		{"one-question", "host/approval/gate.go", "\t\tdefer leave()\n", "\t\tleave()\n", inGate, "TestEqualRequestsAreOneQuestion"},
		{"one-prompt-at-a-time", "host/approval/ask.go", "\t\tcase g.prompt <- struct{}{}:\n\t\t\tdefer func() { <-g.prompt }()", "\t\tcase g.prompt <- struct{}{}:\n\t\t\t<-g.prompt", inGate, "TestOnceIsAskedByEach"},
		{"revoked-while-waiting", "host/approval/cache.go", "\tif d.revoked {\n", "\tif false {\n", inGate, "TestARevocationWhileTheAnswerIsStoredDenies"},
		{"waiters-are-told", "host/approval/cache.go", "\t\t\td.cancel(cause)\n", "", inGate, "TestARevocationBeatsTheAnswerAndItsWaiters"},
		{"revoked-elsewhere", "host/approval/cache.go", " || !q.Revoked.IsZero() {", " {", inGate, "TestAnAllowanceEndsWithItsRevocationAndWithItsHost"},
		{"allowances-end", "host/approval/cache.go", "ok && (!now.Before(a.until) || now.Before(a.given)) {", "ok && now.IsZero() {", inGate, "TestTheCacheIsItsModel"},
		{"allowances-and-a-clock-that-goes-back", "host/approval/cache.go", " || now.Before(a.given)) {", ") {", inGate, "TestAClockThatGoesBackEndsWhatWasAllowed"},
		{"allowances-are-bounded", "host/approval/cache.go", "\tif len(g.allowed) < maxAllowances {", "\tif true {", inGate, "TestWhatIsRememberedIsBounded"},
		{"closed-gates", "host/approval/cache.go", "\treturn d, !g.closed\n", "\treturn d, true\n", inGate, "TestAClosedGateAsksNobody"},
		{"nobody-means-no", "host/approval/ask.go", "\t\treturn Answer{State: Denied, Reason: ReasonNoRoute}", "\t\treturn Answer{State: Allowed, Reach: Once, By: q.Principal}", inGate, "TestWithNobodyToAskTheAnswerIsNoAndOnRecord"},
		{"undelivered-means-no", "host/approval/ask.go", "\t\t\treturn Answer{State: Denied, Reason: ReasonNotDelivered}", "\t\t\treturn Answer{State: Allowed, Reach: Once, By: q.Principal}", inGate, "TestAQuestionThatCannotBeDeliveredIsDenied"},
		{"late-means-no", "host/approval/ask.go", "\t\tif s.err != nil || ctx.Err() != nil {", "\t\tif s.err != nil {", inGate, "TestAPrompterThatFailsOrIsLateDenies"},
		{"failed-means-no", "host/approval/ask.go", "\t\tif s.err != nil || ctx.Err() != nil {", "\t\tif ctx.Err() != nil {", inGate, "TestAPrompterThatFailsOrIsLateDenies"},
		{"no-wider-than-offered", "host/approval/ask.go", "(a.Reach != ForSession || !q.Cacheable):", "a.Reach != ForSession:", inGate, "TestAnswersThatWereNotOfferedDoNotWiden"},
		{"no-longer-than-the-call", "host/approval/ask.go", "\t\topen = min(open, time.Until(over).Truncate(time.Millisecond))", "\t\t_ = over", inGate, "TestAQuestionStandsNoLongerThanItsCall"},
		{"questions-are-inert", "host/approval/ask.go", "Arguments: approval.VisibleJSON(req.Arguments),", "Arguments: req.Arguments,", inCommand, "TestAQuestionLooksLikeWhatItIs"},
		{"only-what-may-be-shown", "policy/approval/visible.go", "r >= ' ' && r < 0x7F || r >= 0xC0 && r <= 0x17F", "r >= ' '", inCommand, "TestAQuestionLooksLikeWhatItIs"},
		{"who-may-decide", "store/internal/rule/approval.go", "\treturn len(q.Approvers) == 0 && by.PrincipalID() == q.Principal", "\treturn true", inMemory, "TestContract"},
		{"in-ones-own-name", "store/internal/rule/approval.go", "ans.By == by.PrincipalID() && MayDecide(q, by)", "MayDecide(q, by)", inMemory, "TestContract"},
		{"revoked-allowances", "store/internal/rule/approval.go", "\tcase !q.Revoked.IsZero():\n\t\treturn effect.ApprovalRevoked", "\tcase false:\n\t\treturn effect.ApprovalRevoked", inMemory, "TestContract"},
		{"allowed-before-it-starts", "store/internal/rule/approval.go", " || q.State != approval.Allowed:", ":", inMemory, "TestContract"},
		{"typed-ahead", "cli/internal/console/lines.go", "\t\tif _, err := l.buf.Discard(l.buf.Buffered()); err != nil {", "\t\tif _, err := l.buf.Discard(0); err != nil {", inConsole, "TestDrainForgetsWhatWasTypedAhead"},
		{"grants-narrow-at-once", "host/effect/decide.go", "\t\tp.granted = p.granted.Still(now)", "\t\t_ = now", inEffect, "TestGrantsNarrowAtOnceAndWidenNever"},
		{"grants-never-widen", "host/effect/decide.go", "\t\tp.granted = p.granted.Still(now)", "\t\tp.granted = now", inEffect, "TestGrantsNarrowAtOnceAndWidenNever"},
		{"grants-widen-by-no-name", "host/effect/decide.go", "\t\tp.granted = p.granted.Still(now)", "\t\tp.granted = p.granted.Intersect(now)", inEffect, "TestGrantsNarrowAtOnceAndWidenNever"},
		{"grants-unread-allow-nothing", "host/effect/decide.go", "\tcase err != nil:\n\t\treturn verdict{\n\t\t\tstatus: Denied, reason: \"grants_unreadable\"", "\tcase err != nil && false:\n\t\treturn verdict{\n\t\t\tstatus: Denied, reason: \"grants_unreadable\"", inEffect, "TestGrantsThatCannotBeReadAllowNothing"},
		{"grants-at-the-start", "host/effect/invoke.go", "Grants: p.granted.Strings(), ", "", inEffect, "TestAGrantThatWasTakenBackMeanwhileStartsNothing"},
		{"grants-at-the-start-of-sqlite", "store/sqlite/effect.go", "err != nil || !stands {", "err != nil && !stands {", inSQLite, "TestContract/an_effect_starts_by_grants_that_still_stand"},
		{"grants-at-the-start-of-memory", "store/internal/rule/effect.go", "\t\tif !slices.Contains(have, g) {", "\t\tif g == \"\" && !slices.Contains(have, g) {", inMemory, "TestContract/an_effect_starts_by_grants_that_still_stand"},
		{"removed-plugins", "host/invoke.go", "\tif err := a.h.plugins.Stands(a.plugin.ID, a.plugin.Version); err != nil {", "\tif err := error(nil); err != nil {", inHost, "TestARemovedPluginIsNotCalledAgain"},
		{"claims-that-are-over-start-no-effect", "store/sqlite/effect.go", "AND l.turn_id = ?2 AND l.expires_at > ?3", "AND l.turn_id = ?2 AND ?3 > 0", inSQLite, "TestContract/a_write_after_the_claim's_expiry_is_stale"},
		{"claims-that-are-over-queue-no-task", "store/sqlite/task.go", "AND l.turn_id = ? AND l.expires_at > ?", "AND l.turn_id = ? AND ? > 0", inSQLite, "TestContract/a_write_after_the_claim's_expiry_is_stale"},
		{"ended-sessions-start-no-effect", "store/sqlite/effect.go", "err != nil || over {\n\t\t\t\thow = effect.SessionEnded", "err != nil || over && false {\n\t\t\t\thow = effect.SessionEnded", inSQLite, "TestContract/a_session_that_is_ended_takes_back_what_was_allowed_in_it,_and_starts_nothing_more"},
		{"ended-sessions-start-no-turn", "store/sqlite/admit.go", "\t\tif at.over {\n", "\t\tif at.over && false {\n", inSQLite, "TestContract/a_session_that_is_ended_takes_back_what_was_allowed_in_it,_and_starts_nothing_more"},
		{"ended-sessions-keep-no-allowance", "store/sqlite/ending.go", "\tif err := s.takeBack(t, session, r); err != nil {", "\tif err := error(nil); err != nil {", inSQLite, "TestContract/a_session_that_is_ended_takes_back_what_was_allowed_in_it,_and_starts_nothing_more"},
		{"ended-sessions-ask-nothing", "store/sqlite/ending.go", "\tif err := s.closeQuestions(t, end, id.Trace(trace), rule.ReasonSessionEnded); err != nil {", "\tif err := error(nil); err != nil {\n\t\t_ = end", inSQLite, "TestContract/a_session_that_is_ended_takes_back_what_was_allowed_in_it,_and_starts_nothing_more"},
		{"who-ends-a-session", "store/sqlite/ending.go", "\tif !found {\n", "\tif false {\n", inSQLite, "TestContract/only_who_reaches_a_session_ends_it"},
		{"own-calls-are-not-ones-own-to-allow", "host/plan.go", "if len(named) == 0 && actor.Authority == principal.Conversation {", "if false {", inHost, "TestWhoMayDecide"},
		{"cores-name-no-approvers", "host/core/rules.go", "\tif r.path != HostFile {", "\tif false {", "./host/core", "TestApproversAreRead"},
		{"left-revisions", "host/plan.go", "\t\th.gate.EndCore(c.ID())\n", "", inHost, "TestAnotherRevisionEndsTheQuestionsOfTheOneBefore"},
		{"left-sessions", "host/turn/admit.go", "\t\tif moves && before != got.Session {", "\t\tif moves && before == \"\" {", inTurn, "TestWhoLeavesASessionIsTold"},
		{"in-time-when-used", "store/internal/rule/approval.go", "\tcase nowMillis >= q.Expires.UnixMilli():\n\t\treturn effect.ApprovalExpired", "\tcase false:\n\t\treturn effect.ApprovalExpired", inMemory, "TestContract"},
	}
}

// surviving is what makes a turn end once and an effect happen once, whatever dies.
func surviving() []guard {
	crash := func(name, file, old, new, test string) guard { return guard{name, file, old, new, inCrash, test} }
	return []guard{
		crash("intent-before-effect", "host/effect/invoke.go", "\thow, err := r.journal.EffectStarted(ctx, started, r.event(p, event.EffectStarted, event.F(\"digest\", p.digest)))", "\thow, err := Begun, error(nil)\n\t_ = started", "TestKilledAtEverySystemCall"),
		crash("same-key-same-turn", "store/sqlite/admit.go", "\treturn rec, err == nil, err", "\treturn rec, false, err", "TestKilledAtEverySystemCall"),
		crash("restart-ends-turns", "store/sqlite/recover.go", "WHERE l.epoch <> ? OR l.expires_at <= ?", "WHERE l.epoch = ? AND l.expires_at <= ?", "TestKilledAtEverySystemCall"),
		crash("open-effects-are-unknown", "store/sqlite/effect.go", "status = 'indeterminate', reason = ?, finished_at = ?\n\t\tWHERE", "status = 'failed', reason = ?, finished_at = ?\n\t\tWHERE", "TestKilledAtEverySystemCall"),
		{"digest-of-the-request", "store/sqlite/admit.go", "case found && before.Digest == a.Digest:", "case found:", inSQLite, "TestContract/same_key_and_another_digest_is_a_conflict"},
		{"fence", "store/sqlite/fence.go", "case !st.claim.Same(c) || st.claim.Expired(now):", "case st.claim.Expired(now):", inSQLite, "TestContract/a_write_under_another_claim_is_stale"},
		{"messages-before-effects", "store/sqlite/effect.go", "if err := s.owes(e.Turn); err != nil {", "if err := s.owes(\"\"); err != nil {", inSQLite, "TestContract/messages_that_cannot_be_stored_are_told_once"},
		{"window", "host/prompt/fit.go", "if p.Overflow = p.Estimate > p.Budget; p.Overflow {", "if p.Overflow = false; p.Overflow {", inPrompt, "TestWhatCannotFitIsAnOverflowWithItsSizes"},
		{"texts-of-other-vocabularies", "host/prompt/count.go", "\t\tn += apart(text)\n", "", inPrompt, "TestNoVocabularyNeedsMoreThanTheEstimate"},
		{"one-summarizer", "store/sqlite/context.go", "case token != \"\" && expires > at:", "case false:", inSQLite, "TestContract/one_writes_a_summary_at_a_time"},
		{"leases-of-a-dead-host", "store/sqlite/recover.go", "WHERE session_id = ? AND epoch <> ?`,", "WHERE session_id = ? AND epoch < ? AND token = ''`,", inSQLite, "TestContract/the_lease_of_a_dead_host_holds_nobody_up"},
		{"summary-goes-on", "store/sqlite/context.go", "AND coalesce((SELECT revision FROM summaries WHERE session_id = m.session_id), 0) = ?", "AND ? >= 0", inSQLite, "TestContract/one_writes_a_summary_at_a_time"},
		{"only-harmless-settles-itself", "store/internal/rule/resolve.go", "\tcase \"idempotent\":\n", "\tcase \"idempotent\", \"manual\":\n", inMemory, "TestContract/a_tool's_recovery_settles_what_a_restart_left_uncertain,_or_leaves_it_to_the_operator"},
		{"settled-once", "store/internal/rule/resolve.go", "\tcase e.Resolution.Verdict != \"\":\n", "\tcase false:\n", inMemory, "TestContract/the_operator_settles_an_uncertain_effect_once,_and_its_turn_stays_as_it_ended"},
		{"only-doubt-is-settled", "store/internal/rule/resolve.go", "\tcase e.Status != effect.Indeterminate:\n", "\tcase false:\n", inMemory, "TestContract/what_is_not_uncertain_is_not_settled"},
		{"settled-by-the-operator", "store/sqlite/resolve.go", "if err := rule.AcceptOperator(by, s.id); err != nil {", "if err := rule.Accept(by, s.id); err != nil {", inSQLite, "TestContract/only_the_operator_settles_effects"},
		{"settled-where-owned", "store/sqlite/resolve.go", "WHERE e.id = ? AND `+reached(\"e.session_id\"), string(e)", "WHERE e.id = ? AND (? OR ? <> '')`, string(e)", inSQLite, "TestContract/an_effect_of_nobody's_session_is_not_settled"},
		{"other-name-of-a-backup", "store/sqlite/backup.go", "errors.Join(flush(bak), discard(partialOf(bak)))", "flush(bak)", inSQLite, "TestABackupKeepsOneName"},
		{"lease-of-a-running-turn", "store/sqlite/migrations/00012_lighter.sql", "WHEN NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = NEW.turn_id AND t.session_id = NEW.session_id AND t.state = 'running')", "WHEN FALSE", inSQLite, "TestSchemaRefuses"},
		{"released-migrations", "store/sqlite/migrations/00005_recovery.sql", "CREATE INDEX effects_uncertain ON effects (finished_at) WHERE status = 'indeterminate';", "CREATE INDEX effects_uncertain ON effects (finished_at, id) WHERE status = 'indeterminate';", inSQLite, "TestReleasedMigrationsStayAsTheyWere"},
		{"condition-in-the-model", "store/sqlite/kv.go", "\t\t\tif ok = ifVersion == nil || *ifVersion == version; err != nil || !ok {\n\t\t\t\treturn err\n\t\t\t}\n\t\t\tretired", "\t\t\tif ok = true; err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t\tretired", inSQLite, "TestModel"},
		{"once-in-a-history", "store/internal/rule/approval.go", "\tcase !q.Used.IsZero():", "\tcase false:", inMemory, "TestLinear"},
		{"one-key-in-a-history", "store/memory/admit.go", "; ok {\n\t\tif before.rec.Digest != a.Digest {", "; ok && a.Digest == \"\" {\n\t\tif before.rec.Digest != a.Digest {", inMemory, "TestLinear"},
		{"session-fence-in-a-history", "store/memory/fence.go", "if how := t.fenced(c, s.clock()); how != turn.Written {", "if how := t.fenced(c, s.clock()); how == turn.Stale {", inMemory, "TestLinear"},
		crash("ends-are-told-when-durable", "store/sqlite/effect.go", "\t\terr = s.write(ctx, func(t *tx) error {\n\t\t\tif err := t.finishEffect(f); err != nil {", "\t\tlater := func(ctx context.Context, fn func(*tx) error) error { return s.behind(ctx, &op{fn: fn, behind: f.Turn}) }\n\t\terr = later(ctx, func(t *tx) error {\n\t\t\tif err := t.finishEffect(f); err != nil {", "TestKilledAtEverySystemCall"),
		{"refusals-wait-for-their-cause", "store/sqlite/group.go", "\t\trefused = append(refused, failed)\n", "\t\tfailed.end(failed.err)\n", inSQLite, "TestARefusalIsToldWhenWhatItIsForIsThere"},
		{"queue-of-a-session", "host/turn/lanes.go", "\tcase len(cur.queue) >= MaxWaitingSession:\n", "\tcase false:\n", inTurn, "TestNoMoreThanABoundWaits"},
		{"queue-of-the-host", "host/turn/lanes.go", "\tcase l.waiting >= MaxWaiting:\n", "\tcase false:\n", inTurn, "TestNoMoreThanABoundWaits"},
		{"asked-to-end", "host/turn/cancel.go", "err == nil && asked {", "err == nil && asked && false {", inTurn, "TestATurnOfAnotherProcessIsAskedToEndAndEnds"},
		{"asked-by-whom", "store/sqlite/cancel.go", "WHERE t.id = ? AND `+reached(\"t.session_id\"), string(turnID), rc.all, rc.allowed).Scan", "WHERE t.id = ? AND (? OR ? <> '')`, string(turnID), rc.all, rc.allowed).Scan", inSQLite, "TestContract/only_who_reaches_a_turn_asks_for_its_end"},
		{"doubt-before-cancelled", "host/turn/run.go", "if e.Status == effect.Indeterminate {", "if false {", inTurn, "TestACancelledTurnIsIndeterminateWhenItsEffectMayHaveHappened"},
		{"late-values", "store/sqlite/kv.go", "\tif err == nil && !live {\n", "\tif false {\n", inSQLite, "TestContract/a_turn_that_is_over_writes_no_values"},
		{"versions-go-on", "store/sqlite/kv.go", "\t\t\t\tversion = retired\n", "\t\t\t\t_ = retired\n", inSQLite, "TestContract/values_are_kept_with_a_version_that_counts_their_writes"},
		{"values-of-the-turn", "host/sandbox/adapter.go", ", Turn: call.Turn.ID()}", "}", inSandbox, "TestAdapterNeedsEveryLayer"},
		{"writes-fail-alone", "store/sqlite/group.go", "_ = s.judge(t.rollback()) // the next", "_ = s.judge(errors.Join(s.commit(t), t.rollback())) // the next", inSQLite, "TestWritesThatComeTogetherShareACommitAndFailAlone"},
		{"writes-beside-a-failure-run-again", "store/sqlite/group.go", "group = slices.DeleteFunc(group, func(o *op) bool { return o == failed })", "group = slices.DeleteFunc(group, func(o *op) bool {\n\t\t\tif o != failed {\n\t\t\t\to.end(nil)\n\t\t\t}\n\t\t\treturn true\n\t\t})", inSQLite, "TestWritesThatComeTogetherShareACommitAndFailAlone"},
		{"private-parts-of-a-changed-history", "host/prompt/group.go", "g.sealed = slices.ContainsFunc(g.messages, sealed)", "g.sealed = false", inPrompt, "TestPrivatePartsLeaveAHistoryThatIsChanged"},
		{"private-parts-that-are-shared", "host/prompt/fit.go", "slices.DeleteFunc(slices.Clone(m.Parts), isOpaque)", "slices.DeleteFunc(m.Parts, isOpaque)", inPrompt, "TestPrivatePartsLeaveAHistoryThatIsChanged"},
		{"window-that-joins-on-is-in-reach", "store/sqlite/context.go", "WHERE k.id = ? AND k.session_id = ? AND `+reached(\"k.session_id\")+` AND", "WHERE k.id = ? AND k.session_id = ? AND (? IS NOT NULL AND ? IS NOT NULL) AND", inSQLite, "TestContract/a_window_is_read_on_from_where_it_was_read"},
		{"hides-what-there-is", "host/prompt/manager.go", "c.model.Hides != nil && !c.model.Hides()", "c.model.Hides != nil", inPrompt, "TestWhereNothingIsHiddenNoMessageIsLookedAt"},
		{"hides-when-something-is-held", "host/turn/hide.go", "return w.known().Len() > 0", "return w.a == nil", inTurn, "TestWhatBecameASecretIsNotShownAgain"},
		{"remembered-secrets", "host/prompt/manager.go", "c.groups = c.concealed(shown(known.groups))", "c.groups = shown(known.groups)", inPrompt, "TestASecretThatCameLaterIsHiddenInWhatIsRemembered"},
		{"remembered-secrets-shortened", "host/prompt/manager.go", "\t\t\tg.brief = nil\n", "", inPrompt, "TestASecretThatCameLaterIsHiddenInWhatIsShortened"},
		{"remembered-stays-as-stored", "host/prompt/manager.go", "\t\t\tg.messages = slices.Clone(g.messages)\n\t\t\tg.messages[n] = hidden", "\t\t\tg.messages[n] = hidden", inPrompt, "TestASecretThatCameLaterIsHiddenInWhatIsRemembered"},
		{"remembered-is-bounded", "host/prompt/history.go", "\tfor m.bytes > maxRemembered {", "\tfor false {", inPrompt, "TestWhatIsRememberedIsBounded"},
		{"remembered-without-a-gap", "host/prompt/manager.go", "if !got.Joins || got.Older {", "if !got.Joins {", inPrompt, "TestWhatIsRememberedDoesNotJoinOverAGap"},
		{"remembered-of-this-summary", "store/sqlite/context.go", "since.Revision == got.Revision && mark > from", "mark > from", inSQLite, "TestContract/a_window_is_read_on_from_where_it_was_read"},
		{"remembered-of-this-session", "store/sqlite/context.go", "WHERE m.id = ? AND m.session_id = w.session_id), 0)", "WHERE m.id = ?), 0)", inSQLite, "TestContract/a_window_is_read_on_from_where_it_was_read"},
		{"lost-reports-are-told", "store/sqlite/group.go", "return errors.Join(t.told.debt.messages, t.told.debt.report)", "return t.told.debt.messages", inSQLite, "TestContract/an_observation_that_cannot_be_stored_is_told_once"},
		{"lost-reports-are-on-record", "host/turn/run.go", "errors.Is(err, prompt.ErrReportLost) && !errors.Is(err, ErrMessagesLost) { // it takes nothing from the answer\n\t\tw.degraded = true", "errors.Is(err, prompt.ErrReportLost) && !errors.Is(err, ErrMessagesLost) { // it takes nothing from the answer", inTurn, "TestALostReportTakesNothingFromTheAnswerAndIsOnRecord"},
		{"summary-before-the-bound", "host/prompt/history.go", "|| messages > maxMessages/4*3 ||", "||", inPrompt, "TestWhatFallsOutOfTheWindowThatIsReadWasSummarised"},
		{"summary-behind-marks", "host/prompt/fit.go", "b.WriteString(\"\\n> \" + ", "b.WriteString(\"\\n\" + ", inPrompt, "TestASummaryDoesNotSpeakAsTheHost"},
		{"small-prompts-set-no-ratio", "host/prompt/observe.go", "if small := smallPrompt - estimate; small > 0 {", "if small := smallPrompt - estimate; small > smallPrompt {", inPrompt, "TestASmallPromptDoesNotSetTheRatio"},
		{"ratio-yields", "host/prompt/prepare.go", "\t\tc.yielded(ctx, s.Number, f)\n", "", inPrompt, "TestARatioThatKeepsAllBackYields"},
		{"ratio-yields-only-so-far", "host/prompt/observe.go", "max(k.Ratio*yield, unmeasured/headroom)", "k.Ratio*yield", inPrompt, "TestARatioYieldsOnlySoFar"},
		{"lost-reports-correct-nothing", "host/prompt/observe.go", "\t\t\tc.degraded = true\n\t\t\tcontinue", "\t\t\t_ = err", inPrompt, "TestAReportThatWasTakenAndLostCorrectsNothing"},
	}
}
