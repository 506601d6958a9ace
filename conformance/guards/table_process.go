package main

// The packages whose tests notice.
const (
	inWords   = "./policy/command"
	inProcess = "./host/process"
	inExec    = "./host/exec"
)

// running is what a program of the machine meets.
func running() []guard {
	const (
		policy = "policy/command/"
		engine = "host/process/"
		tool   = "host/exec/"
	)
	return []guard{
		{"keeper-is-closed", engine + "keep_linux.go", "unix.Prctl(unix.PR_SET_DUMPABLE, 0,", "unix.Prctl(unix.PR_SET_DUMPABLE, 1,", inProcess, "TestAKeeperCannotBeLookedInto"},
		{"words-behind-a-wrapper", policy + "judge.go", "if !j.runsOthers {", "if true {", inWords, "TestWhatIsFoundInACommandLine"},
		{"letters-in-a-cluster", policy + "judge.go", "w[1] != '-' && strings.Contains(w[1:], f[1:])", "w == f", inWords, "TestWhatIsFoundInACommandLine"},
		{"abbreviated-options", policy + "judge.go", "strings.HasPrefix(f, name)", "f == name", inWords, "TestWhatIsFoundInACommandLine"},
		{"loader-variables", policy + "variable.go", "if prefix, wild := strings.CutSuffix(n, \"*\"); upper == n ||", "if prefix, wild := strings.CutSuffix(n, \"*\"); upper == n+\"x\" ||", inWords, "TestVariablesThatNobodyMaySet"},

		{"whole-environment", engine + "keep_linux.go", "Env: k.order.Env, Files", "Env: append(os.Environ(), k.order.Env...), Files", inProcess, "TestAProgramSeesTheEnvironmentItWasGiven"},
		{"descriptors", engine + "keep_linux.go", "\tcloseOnExec()\n", "", inProcess, "TestHowProgramsEnd/three_streams,_no_more"},
		{"no-dump", engine + "keep_linux.go", "unix.Setrlimit(unix.RLIMIT_CORE,", "unix.Getrlimit(unix.RLIMIT_CORE,", inProcess, "TestNoProgramLeavesADump"},
		{"orphans", engine + "keep_linux.go", "unix.PR_SET_CHILD_SUBREAPER, 1,", "unix.PR_SET_CHILD_SUBREAPER, 0,", inProcess, "TestHowProgramsEnd/a_double_fork"},
		{"killed-after-the-grace", engine + "keep_linux.go", "\t\t\tcase asking:\n\t\t\t\tenter(killing, unix.SIGKILL)", "\t\t\tcase asking:\n\t\t\t\tenter(asking, unix.SIGTERM)", inProcess, "TestWhatIsStoppedIsGone/TERM_ignored,_stop"},
		{"host-is-gone", engine + "keep_linux.go", "case !open || word == sayKill:", "case !open:\n\t\t\tcase word == sayKill:", inProcess, "TestAHostThatDiesTakesItsProgramsAlong"},
		{"lost-keeper", engine + "spawn_linux.go", "\t\t\tend.Left = max(1, end.Left)\n", "\t\t\tend.Clean = true\n", inProcess, "TestAProgramThatKillsItsKeeperIsNotSaidToBeGone"},
		{"reused-number", engine + "proc_linux.go", "if now, ok := startTime(pid); ok && now != start {", "if false {", inProcess, "TestAReusedNumberIsLeftAlone"},
		{"program-that-was-hashed", engine + "keep_linux.go", "err != nil || !k.order.Program.is(&st) {", "err != nil {", inProcess, "TestWhatChangedDoesNotStart/binary,_rewritten"},
		{"files-that-were-hashed", engine + "keep_linux.go", "\t\tif !s.still() {", "\t\tif false {", inProcess, "TestWhatChangedDoesNotStart/operand,_replaced"},
		{"time-of-the-inode", engine + "seen.go", "o.Path = s.Path; return", "o.Path, o.Changed = s.Path, s.Changed; return", inProcess, "TestWhatChangedDoesNotStart/binary,_rewritten"},
		{"settled-digests", engine + "digest.go", "< settled {", "< 0 {", inProcess, "TestDigestsAreRememberedOnlyForWhatIsSettled"},
		{"set-id", engine + "pin.go", "case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:", "case false:", inProcess, "TestWhatCanBePinned"},
		{"writable-by-others", engine + "pin.go", "case mode&0o022 != 0 && modesCount:", "case false:", inProcess, "TestWhatCanBePinned"},
		{"folder-for-everybody", engine + "pin.go", "if info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {", "if info == nil {", inProcess, "TestWhatCanBePinned"},
		{"programs-of-the-workspace", engine + "pin.go", "if workspace != \"\" && (", "if false && (", inProcess, "TestWhatCanBePinned"},
		{"size-of-an-artifact", engine + "artifact.go", "fits := p[:min(int64(len(p)), k.left)]", "fits := p", inProcess, "TestArtifactsArePrivateBoundedAndLetTheOldestGo"},
		{"number-of-artifacts", engine + "artifact.go", "len(entries)-i < a.Count && ", "", inProcess, "TestArtifactsArePrivateBoundedAndLetTheOldestGo"},

		{"output-hidden-before-cut", tool + "result.go", "if w.Exact() {", "if true {", inExec, "TestNoPartOfAValueIsShownWhereAnOutputIsCut"},
		{"links-asked-each-time", tool + "operands.go", "\t\tp.out.Notes = append(p.out.Notes, name+\" is a link to \"+to", "\t\t_ = append(p.out.Notes, name+\" is a link to \"+to", inExec, "TestAFileBehindALinkIsAskedAboutEachTime"},
		{"files-behind-options", tool + "operands.go", "range append(attached(w), w, value,", "range append([]string{}, w, value,", inExec, "TestWhatChangesWhileItIsAskedAboutDoesNotRun/behind_an_option"},
		{"bytes-hidden-before-readable", engine + "output.go", "o.total == int64(len(all)) && readable(all) == string(all)", "o.total == int64(len(all))", inExec, "TestWhatIsNoTextIsHiddenBeforeItIsMadeReadable"},
		{"programs-of-the-core", tool + "plan.go", "return p.listed(a.Argv[0])", "return nil", inExec, "TestWhatIsRefusedBeforeAnybodyIsAsked/another_program"},
		{"code-in-words", tool + "plan.go", "if f.Kind == command.Code && !p.rule.CodeFlags {", "if false {", inExec, "TestWhatIsRefusedBeforeAnybodyIsAsked/code_behind_a_wrapper"},
		{"folder-by-a-link", tool + "plan.go", "dir, err := root.Open(rel)", "dir, err := os.Open(filepath.Join(workspace, rel))", inExec, "TestWhatIsRefusedBeforeAnybodyIsAsked/a_link_out"},
		{"variables-that-steer", tool + "tool.go", "\t\tjudge = command.RefusedForSecret\n", "", inExec, "TestWhatIsRefusedBeforeAnybodyIsAsked/a_secret_as_proxy"},
		{"variables-of-secrets", tool + "tool.go", "\tif why, refused := judge(name); refused {\n\t\treturn &effect", "\tif why, refused := judge(name); refused && why == \"\" {\n\t\treturn &effect", inExec, "TestWhatIsRefusedBeforeAnybodyIsAsked/a_secret_as_loader"},
		{"not-remembered", tool + "plan.go", "p.out.Cacheable = len(p.out.Notes) == 0", "p.out.Cacheable = true", inExec, "TestWhatRunsAndWhetherThatIsRemembered/a_wrapper"},
		{"operands", tool + "plan.go", "\t\tfunc() *effect.Objection { return p.operands(ctx) },\n", "", inExec, "TestWhatChangesWhileItIsAskedAboutDoesNotRun/a_script_is_rewritten"},
		{"interpreters", tool + "plan.go", "\t\tfunc() *effect.Objection { return p.runner(ctx) },\n", "", inExec, "TestWhatChangesWhileItIsAskedAboutDoesNotRun/an_interpreter"},
		{"uncertain-ends", tool + "invoke.go", "case !end.Clean:", "case false:", inExec, "TestAnUnconfirmedEndIsIndeterminate"},
		{"secrets-in-artifacts", tool + "result.go", "if set := hidden(); set.Len() > 0 {", "if set := hidden(); set.Len() > 1000 {", inExec, "TestSecretsComeAsVariablesAndAreNowhereElse"},
	}
}
