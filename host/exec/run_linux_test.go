package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func TestAProgramRunsAfterAPersonSaidYes(t *testing.T) {
	w := newWorld(t, "programs: [echo]")
	r := w.run("echo", "a b", "*")
	if r.Status != effect.Succeeded || r.Stdout != "a b *\n" || r.Code != 0 || !r.Started {
		t.Fatalf("%+v", r)
	}
	q := w.asked[0]
	if q.Risk.String() != "high" || !slices.Equal(q.Needs, []string{"process.exec"}) || !q.Cacheable || q.Plugin != "" ||
		!has(q.Plan, `"argv":["echo","a b","*"]`, `"role":"executable"`, `/echo"`, `"sha256":"`, `"dir":"`+w.work+`"`) {
		t.Fatalf("%+v", q)
	}
	w.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{State: approval.Denied, By: q.Principal}
	}
	if r := w.run("echo", "x"); r.Status != effect.Denied || r.Started || r.Reason != approval.ReasonDenied {
		t.Fatalf("%+v", r)
	}
}

// What is refused is refused before anybody is asked, with what to do about it.
func TestWhatIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		section, tool, args, reason string
		say                         []string
	}{
		"no section":               {"", "process.exec", `{"argv":["ls"]}`, "program_not_listed", []string{"add ls to process.programs in cores/runner/agent.yaml"}},
		"another program":          {"programs: [ls]", "process.exec", `{"argv":["cat"]}`, "program_not_listed", []string{"core runner does not list cat"}},
		"a path for a name":        {"programs: [/bin/no]", "process.exec", `{"argv":["ls"]}`, "program_not_listed", nil},
		"the name of another file": {"programs: [ls]", "process.exec", `{"argv":["./ls"]}`, "program_not_listed", nil},
		"a program that is not there": {
			"programs: ['*']", "process.exec", `{"argv":["no-such-program"]}`, "program_not_found", []string{"is in no folder of PATH"},
		},
		"a program of the workspace": {"programs: ['*']", "process.exec", `{"argv":["./tool.sh"]}`, "program_in_workspace", []string{"workspace_programs: true"}},
		"a folder as program":        {"programs: ['*']", "process.exec", `{"argv":["/bin/"]}`, "program_not_a_file", nil},
		"not executable":             {"programs: ['*']", "process.exec", `{"argv":["/etc/passwd"]}`, "program_not_executable", []string{"chmod +x /etc/passwd"}},
		"an empty name":              {"programs: ['*']", "process.exec", `{"argv":[""]}`, "arguments_unusable", nil},
		"NUL in a word":              {"programs: ['*']", "process.exec", `{"argv":["ls","a\u0000b"]}`, "arguments_unusable", []string{"NUL"}},
		"code in words":              {"programs: ['*']", "process.exec", `{"argv":["git","-c","core.pager=id","log"]}`, "code_in_words", []string{"git -c", "code_flags: ask"}},
		"code behind a wrapper":      {"programs: ['*']", "process.exec", `{"argv":["env","sh","-c","id"]}`, "code_in_words", []string{"sh -c runs the text"}},
		"code on standard input":     {"programs: ['*']", "process.exec", `{"argv":["sh"],"stdin":"id"}`, "code_in_words", []string{"standard input"}},
		"a wrapper that sets":        {"programs: ['*']", "process.exec", `{"argv":["env","LD_PRELOAD=x","ls"]}`, "code_in_words", nil},
		"a loader variable":          {"programs: ['*']", "process.exec", `{"argv":["ls"],"env":{"LD_PRELOAD":"x"}}`, "variable_refused", []string{"LD_PRELOAD changes which code is loaded"}},
		"NODE_OPTIONS":               {"programs: ['*']", "process.exec", `{"argv":["ls"],"env":{"NODE_OPTIONS":"x"}}`, "variable_refused", nil},
		"GIT_SSH_COMMAND":            {"programs: ['*']", "process.exec", `{"argv":["git"],"env":{"GIT_SSH_COMMAND":"x"}}`, "variable_refused", nil},
		"PATH":                       {"programs: ['*']", "process.exec", `{"argv":["ls"],"env":{"PATH":"/tmp"}}`, "variable_refused", nil},
		"a variable not declared":    {"programs: ['*']", "process.exec", `{"argv":["ls"],"env":{"FOO":"x"}}`, "variable_not_listed", []string{"add FOO to process.environment"}},
		"no name of a variable":      {"programs: ['*']", "process.exec", `{"argv":["ls"],"env":{"A=B":"x"}}`, "variable_refused", nil},
		"twice":                      {"programs: ['*']", "process.exec", `{"argv":["ls"],"env":{"CI":"x"},"secrets":{"CI":"DEPLOY_TOKEN"}}`, "variable_refused", []string{"twice"}},
		"a secret as loader":         {"programs: ['*']", "process.exec", `{"argv":["ls"],"secrets":{"LD_PRELOAD":"DEPLOY_TOKEN"}}`, "variable_refused", nil},
		"a secret as proxy":          {"programs: ['*']", "process.exec", `{"argv":["ls"],"secrets":{"HTTPS_PROXY":"DEPLOY_TOKEN"}}`, "variable_refused", []string{"HTTPS_PROXY steers where"}},
		"a secret of another":        {"programs: ['*']", "process.exec", `{"argv":["ls"],"secrets":{"A":"OTHER_TOKEN"}}`, "capability_not_in_core", []string{"secret.bind:OTHER_TOKEN"}},
		"a folder above":             {"programs: ['*']", "process.exec", `{"argv":["ls"],"cwd":".."}`, "folder_outside", []string{"not below the workspace"}},
		"a folder up and down":       {"programs: ['*']", "process.exec", `{"argv":["ls"],"cwd":"sub/../../x"}`, "folder_outside", nil},
		"a folder from the root":     {"programs: ['*']", "process.exec", `{"argv":["ls"],"cwd":"/tmp"}`, "folder_outside", nil},
		"a link out":                 {"programs: ['*']", "process.exec", `{"argv":["ls"],"cwd":"out"}`, "folder_outside", nil},
		"a folder not there":         {"programs: ['*']", "process.exec", `{"argv":["ls"],"cwd":"none"}`, "folder_not_found", nil},
		"a file as folder":           {"programs: ['*']", "process.exec", `{"argv":["ls"],"cwd":"tool.sh"}`, "folder_not_found", nil},
		"the core's folder":          {"programs: ['*'], workdir: none", "process.exec", `{"argv":["ls"]}`, "folder_not_found", nil},
		"a shell that is off":        {"programs: ['*']", "process.shell", `{"command":"id"}`, "tool_not_found", nil},
		"a text for words":           {"programs: ['*']", "process.exec", `{"command":"id"}`, "arguments_schema", nil},
		"a shell switch":             {"programs: ['*']", "process.exec", `{"argv":["id"],"shell":true}`, "arguments_schema", nil},
		"no words":                   {"programs: ['*']", "process.exec", `{"argv":[]}`, "arguments_schema", nil},
		"too much input":             {"programs: ['*']", "process.exec", `{"argv":["cat"],"stdin":"` + strings.Repeat("x", 256<<10+1) + `"}`, "arguments_schema", nil},
		"too long":                   {"programs: ['*']", "process.exec", `{"argv":["ls"],"timeout_ms":600001}`, "arguments_schema", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.section)
			w.file(w.work, "tool.sh", "#!/bin/sh\necho ran\n", 0o755)
			if err := os.Symlink("/tmp", filepath.Join(w.work, "out")); err != nil {
				t.Fatal(err)
			}
			r := w.call(t.Context(), c.tool, c.args)
			if r.Reason != c.reason || r.Started || len(w.asked) > 0 || !has(r.Sentence, c.say...) {
				t.Errorf("%s %s: %s; asked %d", r.Status, r.Reason, r.Sentence, len(w.asked))
			}
			if model := r.Views.Model.String(); has(model, w.work) || has(model, "agent.yaml") {
				t.Errorf("the model is told %s", model)
			}
		})
	}
}

// What runs, and whether a person's answer may be remembered.
func TestWhatRunsAndWhetherThatIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		section, tool, args string
		remembered          bool
		out                 string
		notes               []string
	}{
		"plain":                     {"programs: [echo]", "process.exec", `{"argv":["echo","x"]}`, true, "x\n", nil},
		"by path":                   {"programs: [echo]", "process.exec", `{"argv":["/usr/bin/echo","x"]}`, true, "x\n", nil},
		"listed by path":            {"programs: [/usr/bin/echo]", "process.exec", `{"argv":["echo","x"]}`, true, "x\n", nil},
		"any":                       {"programs: ['*']", "process.exec", `{"argv":["echo","x"]}`, true, "x\n", nil},
		"input":                     {"programs: [cat]", "process.exec", `{"argv":["cat"],"stdin":"hello"}`, true, "hello", nil},
		"no input":                  {"programs: [cat]", "process.exec", `{"argv":["cat"]}`, true, "", nil},
		"a file":                    {"programs: [cat]", "process.exec", `{"argv":["cat","f.txt"]}`, true, "text\n", nil},
		"the workspace":             {"programs: [pwd]", "process.exec", `{"argv":["pwd"]}`, true, "WORK\n", nil},
		"a folder":                  {"programs: [pwd]", "process.exec", `{"argv":["pwd"],"cwd":"sub/deep"}`, true, "WORK/sub/deep\n", nil},
		"a folder by a link inside": {"programs: [pwd]", "process.exec", `{"argv":["pwd"],"cwd":"in"}`, true, "WORK/sub\n", nil},
		"the core's folder":         {"programs: [pwd], workdir: sub", "process.exec", `{"argv":["pwd"]}`, true, "WORK/sub\n", nil},
		"a declared variable":       {"programs: [printenv]", "process.exec", `{"argv":["printenv","CI"],"env":{"CI":"yes"}}`, true, "yes\n", nil},
		"language":                  {"programs: [printenv]", "process.exec", `{"argv":["printenv","LANG"],"env":{"LANG":"de_DE.UTF-8"}}`, true, "de_DE.UTF-8\n", nil},
		"a wrapper":                 {"programs: [env]", "process.exec", `{"argv":["env","echo","x"]}`, false, "x\n", []string{"env runs the command it names"}},
		"env true, then env sh":     {"programs: [env]", "process.exec", `{"argv":["env","true"]}`, false, "", nil},
		"a script":                  {"programs: [sh]", "process.exec", `{"argv":["sh","s.sh","1"]}`, false, "script 1\n", []string{"sh runs a script", `"role":"script"`, "/s.sh"}},
		"code when asked for":       {"programs: [sh], code_flags: ask", "process.exec", `{"argv":["sh","-c","echo code"]}`, false, "code\n", []string{"sh -c runs the text behind it"}},
		"a shell text":              {"programs: [], shell: true", "process.shell", `{"command":"echo a | tr a b"}`, false, "b\n", []string{"the shell runs the whole text"}},
		"a program of the workspace": {
			"programs: ['*'], workspace_programs: true", "process.exec", `{"argv":["./tool.sh"]}`, true, "tool ./tool.sh\n", []string{`"role":"interpreter"`},
		},
		"an exit code":    {"programs: [sh]", "process.exec", `{"argv":["sh","exit.sh"]}`, false, "", nil},
		"not valid UTF-8": {"programs: [printf]", "process.exec", `{"argv":["printf","a\\377b"]}`, true, "a\uFFFDb", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.section)
			w.file(w.work, "f.txt", "text\n", 0o644)
			w.file(w.work, "s.sh", "echo script $1\n", 0o644)
			w.file(w.work, "exit.sh", "exit 42\n", 0o644)
			w.file(w.work, "tool.sh", "#!/bin/sh\necho tool $0\n", 0o755)
			w.file(w.work, "sub/deep/x", "", 0o644)
			if err := os.Symlink("sub", filepath.Join(w.work, "in")); err != nil {
				t.Fatal(err)
			}
			w.follow = true
			w.answer = func(q approval.Question) approval.Answer {
				return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: q.Principal}
			}
			for range 2 {
				r := w.call(t.Context(), c.tool, c.args)
				want := strings.ReplaceAll(strings.ReplaceAll(c.out, "WORK", w.work), "./tool.sh", w.work+"/tool.sh")
				if r.Status != effect.Succeeded || r.Stdout != want || strings.Contains(c.args, "exit.sh") != (r.Code == 42) {
					t.Fatalf("%s %s: %s, %q %q", r.Status, r.Reason, r.Sentence, r.Stdout, r.Stderr)
				}
			}
			if asked := 2; c.remembered {
				asked = 1
				if len(w.asked) != asked {
					t.Errorf("asked %d times", len(w.asked))
				}
			} else if len(w.asked) != asked || w.asked[0].Cacheable {
				t.Errorf("asked %d times", len(w.asked))
			}
			if !has(w.asked[0].Plan, c.notes...) {
				t.Errorf("the plan is %s", w.asked[0].Plan)
			}
		})
	}
}

// An allowance for the session is for exactly what was asked about: each of these is another call.
func TestAnAllowanceCoversExactlyOneCommand(t *testing.T) {
	w := newWorld(t, "programs: [cat, echo]")
	w.follow = true
	w.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: q.Principal}
	}
	path := w.file(w.work, "f.txt", "one", 0o644)
	w.file(w.work, "sub/f.txt", "one", 0o644)
	for i, args := range []string{
		`{"argv":["cat","f.txt"]}`, `{"argv":["cat","f.txt",""]}`, `{"argv":["cat","f.txt"],"cwd":"sub"}`, `{"argv":["cat","f.txt"],"stdin":"x"}`,
		`{"argv":["cat","f.txt"],"env":{"CI":"1"}}`, `{"argv":["cat","f.txt"],"env":{"CI":"2"}}`, `{"argv":["/usr/bin/cat","f.txt"]}`, `{"argv":["echo","f.txt"]}`,
		`{"argv":["cat","f.txt"],"timeout_ms":9000}`,
	} {
		for range 2 {
			if r := w.call(t.Context(), "process.exec", args); r.Status != effect.Succeeded || len(w.asked) != i+1 {
				t.Fatalf("%s: %s %s, asked %d times", args, r.Status, r.Sentence, len(w.asked))
			}
		}
	}
	asked := len(w.asked)
	if err := os.WriteFile(path, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := w.call(t.Context(), "process.exec", `{"argv":["cat","f.txt"]}`); r.Stdout != "two" || len(w.asked) != asked+1 {
		t.Fatalf("the file changed, and %d questions became %d", asked, len(w.asked))
	}
}

// What a link leads to may be another file when the program reads it: such a call is asked about each time, and does not start
// when the link leads elsewhere by then, even to what was approved under another name.
func TestAFileBehindALinkIsAskedAboutEachTime(t *testing.T) {
	w := newWorld(t, "programs: [cat]")
	w.follow = true
	w.answer = func(q approval.Question) approval.Answer {
		return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: q.Principal}
	}
	w.file(w.work, "a.txt", "A", 0o644)
	w.file(w.work, "b.txt", "B", 0o644)
	link := filepath.Join(w.work, "link")
	lead := func(to string) {
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	lead("a.txt")
	for n := range 2 {
		if r := w.run("cat", "link"); r.Stdout != "A" || len(w.asked) != n+1 || w.asked[n].Cacheable {
			t.Fatalf("%d: %s %q, asked %d times", n, r.Status, r.Stdout, len(w.asked))
		}
	}
	if !strings.Contains(w.asked[0].Plan, "/a.txt: it may lead elsewhere") {
		t.Errorf("the plan is %s", w.asked[0].Plan)
	}
	w.before = func() { lead("b.txt") }
	for _, words := range [][]string{{"cat", "link"}, {"cat", "b.txt", "a.txt", "link"}} {
		lead("a.txt")
		if r := w.run(words...); r.Status != effect.Denied || r.Reason != effect.ReasonOperandChanged || r.Stdout != "" {
			t.Errorf("%q: %s %s %q", words, r.Status, r.Reason, r.Stdout)
		}
	}
}

// F26: what changes while a person looks at it does not run.
func TestWhatChangesWhileItIsAskedAboutDoesNotRun(t *testing.T) {
	const ran = "#!/bin/sh\necho ran > ran\n"
	for name, c := range map[string]struct {
		argv   string
		change func(w *world, dir string)
	}{
		"a script is rewritten": {`["sh","s.sh"]`, func(w *world, _ string) { w.file(w.work, "s.sh", ran, 0o644) }},
		"a script is replaced": {`["sh","s.sh"]`, func(w *world, _ string) {
			w.file(w.work, "new", ran, 0o644)
			_ = os.Rename(filepath.Join(w.work, "new"), filepath.Join(w.work, "s.sh"))
		}},
		"a script becomes a link": {`["sh","s.sh"]`, func(w *world, dir string) {
			at := w.file(dir, "elsewhere", ran, 0o644)
			_ = os.Remove(filepath.Join(w.work, "s.sh"))
			_ = os.Symlink(at, filepath.Join(w.work, "s.sh"))
		}},
		"a script is gone": {`["sh","s.sh"]`, func(w *world, _ string) { _ = os.Remove(filepath.Join(w.work, "s.sh")) }},
		"a file appears":   {`["sh","s.sh","late"]`, func(w *world, _ string) { w.file(w.work, "late", "x", 0o644) }},
		"a file behind =":  {`["sh","s.sh","--input=data"]`, func(w *world, _ string) { w.file(w.work, "data", "other", 0o644) }},
		"a file behind @":  {`["sh","s.sh","@data"]`, func(w *world, _ string) { w.file(w.work, "data", "other", 0o644) }},
		"behind an option": {`["sh","s.sh","-fdata"]`, func(w *world, _ string) { w.file(w.work, "data", "other", 0o644) }},
		"behind a cluster": {`["sh","s.sh","-nvfdata"]`, func(w *world, _ string) { w.file(w.work, "data", "other", 0o644) }},
		"a link to a file": {`["sh","s.sh","link"]`, func(w *world, _ string) {
			w.file(w.work, "other", "x", 0o644)
			_ = os.Remove(filepath.Join(w.work, "link"))
			_ = os.Symlink("other", filepath.Join(w.work, "link"))
		}},
		"the program itself":     {`["tool"]`, func(w *world, dir string) { w.file(dir, "tool", ran, 0o755) }},
		"the program's link":     {`["linked"]`, func(w *world, dir string) { _ = os.Remove(dir + "/linked"); _ = os.Symlink("/bin/true", dir+"/linked") }},
		"an interpreter":         {`["tool"]`, func(w *world, dir string) { w.file(dir, "runner", ran, 0o755) }},
		"an earlier one in PATH": {`["tool"]`, func(w *world, dir string) { w.file(dir, "first/tool", ran, 0o755) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir+"/first:"+dir+":"+os.Getenv("PATH"))
			w := newWorld(t, "programs: ['*']")
			w.file(w.work, "s.sh", "echo first\n", 0o644)
			w.file(w.work, "data", "x", 0o644)
			_ = os.Symlink("data", filepath.Join(w.work, "link"))
			w.file(dir, "runner", "#!/bin/sh\necho through\n", 0o755)
			tool := w.file(dir, "tool", "#!"+dir+"/runner\n", 0o755)
			_ = os.Symlink(tool, dir+"/linked")
			w.before = func() { c.change(w, dir) }
			r := w.call(t.Context(), "process.exec", `{"argv":`+c.argv+`}`)
			if r.Status != effect.Denied || r.Started || !slices.Contains([]string{effect.ReasonOperandChanged, "program_writable_by_others"}, r.Reason) {
				t.Errorf("%s %s: %s", r.Status, r.Reason, r.Sentence)
			}
			if _, err := os.Stat(filepath.Join(w.work, "ran")); err == nil {
				t.Error("it ran")
			}
		})
	}
}

// F19: exactly what every program gets, what the core declares and what the call sets; the host's own secrets are not
// among it.
func TestAProgramSeesTheAllowedEnvironmentOnly(t *testing.T) {
	for name, v := range map[string]string{
		"OPENAI_API_KEY": "sk-host", "AWS_SECRET_ACCESS_KEY": "aws-host", "SSH_AUTH_SOCK": "/tmp/agent", "LD_LIBRARY_PATH": "/nowhere",
		"PORTCULLIS_HOME": "/nowhere", "GIT_SSH_COMMAND": "id", "NODE_OPTIONS": "--x", "BASH_ENV": "/x", "LANG": "C.UTF-8", "TZ": "UTC",
	} {
		t.Setenv(name, v)
	}
	w := newWorld(t, "programs: [env]")
	r := w.call(t.Context(), "process.exec", `{"argv":["env"],"env":{"CI":"1"}}`)
	var names []string
	for _, l := range strings.Split(strings.TrimSpace(r.Stdout), "\n") {
		name, _, _ := strings.Cut(l, "=")
		names = append(names, name)
	}
	var want []string
	for _, name := range []string{"CI", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TEST_MARK", "TMPDIR", "TZ", "USER"} {
		if _, set := os.LookupEnv(name); set || name == "CI" {
			want = append(want, name)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestSecretsComeAsVariablesAndAreNowhereElse(t *testing.T) {
	w := newWorld(t, "programs: [printenv, sh]")
	const value = "deploy-token-9f8e7d6c5b4a"
	w.secret("DEPLOY_TOKEN", value)
	r := w.call(t.Context(), "process.exec", `{"argv":["printenv","TOKEN"],"secrets":{"TOKEN":"DEPLOY_TOKEN"}}`)
	if r.Status != effect.Succeeded || r.Out != int64(len(value)+1) {
		t.Fatalf("%s %s %s", r.Status, r.Reason, r.Sentence)
	}
	if w.asked[0].Cacheable || !has(w.asked[0].Plan, `"env":["TOKEN"]`) || !has(w.asked[0].Arguments, `"secrets":{"TOKEN":"DEPLOY_TOKEN"}`) || !slices.Contains(w.asked[0].Needs, "secret.bind:DEPLOY_TOKEN") {
		t.Errorf("%+v", w.asked[0])
	}
	for _, text := range []string{r.Stdout, r.Views.Model.String(), r.Views.Durable.String(), r.Views.Debug.String(), w.asked[0].Plan, w.asked[0].Arguments} {
		if has(text, value) {
			t.Errorf("the value is in %s", text)
		}
	}
	w.file(w.work, "flood.sh", "i=0; while [ $i -lt 3000 ]; do echo line $i $TOKEN; i=$((i+1)); done\n", 0o644)
	r = w.call(t.Context(), "process.exec", `{"argv":["sh","flood.sh"],"secrets":{"TOKEN":"DEPLOY_TOKEN"}}`)
	if r.Status != effect.Succeeded || len(r.Kept) != 1 {
		t.Fatalf("%s %s %v", r.Status, r.Sentence, r.Kept)
	}
	kept, err := os.ReadFile(filepath.Join(w.home, "artifacts", r.Kept[0]))
	if err != nil || has(string(kept), value) || !has(string(kept), "line 0 ", "line 2999 ") {
		t.Errorf("%d bytes are kept, with the value: %v, %v", len(kept), has(string(kept), value), err)
	}
}

func TestALongOutputIsCutAndKeptWhole(t *testing.T) {
	w := newWorld(t, "programs: [seq, sh]")
	r := w.run("seq", "1", "20000")
	if r.Status != effect.Succeeded || !has(r.Stdout, "1\n2\n", "bytes left out", "\n20000\n") || len(r.Stdout) > 30<<10 || len(r.Kept) != 1 || r.Kept[0] != string(r.ID)+".stdout" {
		t.Fatalf("%s, %d bytes, kept %v", r.Status, len(r.Stdout), r.Kept)
	}
	at := filepath.Join(w.home, "artifacts", r.Kept[0])
	info, err := os.Stat(at)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != r.Out {
		t.Fatal(info, err)
	}
	w.file(w.work, "e.sh", "seq 1 20000 >&2\n", 0o644)
	if r := w.run("sh", "e.sh"); len(r.Kept) != 1 || !strings.HasSuffix(r.Kept[0], ".stderr") {
		t.Fatal(r.Kept)
	}
	if r := w.run("seq", "1", "3"); len(r.Kept) != 0 {
		t.Fatal("a short output is kept:", r.Kept)
	}
	// A disk that takes nothing ends the program, and the tool fails.
	if err := os.RemoveAll(filepath.Join(w.home, "artifacts")); err != nil {
		t.Fatal(err)
	}
	w.file(w.home, "artifacts", "no folder", 0o600)
	w.file(w.work, "forever.sh", "while :; do seq 1 20000; done\n", 0o644)
	if r := w.run("sh", "forever.sh"); r.Status != effect.Failed || r.Reason != "output_not_kept" {
		t.Fatalf("%s %s %s", r.Status, r.Reason, r.Sentence)
	}
}

func TestATimeoutAndACancellationAreTold(t *testing.T) {
	w := newWorld(t, "programs: [sh]")
	w.file(w.work, "stay.sh", "trap '' TERM; setsid sleep 60 & sleep 60 & echo x > here; while :; do sleep 60; done\n", 0o644)
	for _, args := range []string{`{"argv":["sh","stay.sh"],"timeout_ms":300}`} {
		if r := w.call(t.Context(), "process.exec", args); r.Status != effect.TimedOut || !r.Started {
			t.Fatalf("%s %s %s", r.Status, r.Reason, r.Sentence)
		}
		if left := w.living(); len(left) > 0 {
			t.Fatal(left)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_ = os.Remove(filepath.Join(w.work, "here"))
	go func() {
		defer cancel()
		for ctx.Err() == nil { // until the program says that it runs, or the call is over
			if _, err := os.Stat(filepath.Join(w.work, "here")); err == nil {
				return
			}
		}
	}()
	_, r, err := w.host.Call(ctx, host.Request{Core: "runner", Workspace: w.work}, "process.exec", []byte(`{"argv":["sh","stay.sh"]}`), turn.Observer{})
	if !errors.Is(err, context.Canceled) || r.Status != effect.Cancelled {
		t.Fatalf("%s %s %v", r.Status, r.Reason, err)
	}
	if left := w.living(); len(left) > 0 {
		t.Fatal(left)
	}
}

// What a program does to its keeper makes its end uncertain, and that is said.
func TestAnUnconfirmedEndIsIndeterminate(t *testing.T) {
	w := newWorld(t, "programs: [sh]")
	w.file(w.work, "k.sh", "sleep 0.2; kill -KILL $PPID; exit 0\n", 0o644)
	r := w.run("sh", "k.sh")
	if r.Status != effect.Indeterminate || r.Reason != "cleanup_not_confirmed" || !r.Started {
		t.Fatalf("%s %s %s", r.Status, r.Reason, r.Sentence)
	}
}

func TestWhatTheSystemWillNotRunIsTold(t *testing.T) {
	w := newWorld(t, "programs: ['*'], workspace_programs: true")
	w.file(w.work, "plain", "echo x\n", 0o755)
	if r := w.run("./plain"); r.Status != effect.Failed || r.Reason != "not_started" || !has(r.Sentence, "first line such as #!/bin/sh") {
		t.Fatalf("%s %s %s", r.Status, r.Reason, r.Sentence)
	}
}

// A signal that ends a program is part of the result.
func TestASignalIsPartOfTheResult(t *testing.T) {
	w := newWorld(t, "programs: [sh]")
	w.file(w.work, "s.sh", "kill -SEGV $$\n", 0o644)
	if r := w.run("sh", "s.sh"); r.Status != effect.Succeeded || r.Signal != "SIGSEGV" || r.Code != -1 {
		t.Fatalf("%s %+v", r.Status, r)
	}
}

// Nobody is asked about words of which a part would be masked, and an explanation says so.
func TestWordsThatWouldBeMaskedAreNotAskedAbout(t *testing.T) {
	w := newWorld(t, "programs: ['*'], shell: true, code_flags: ask")
	for tool, args := range map[string]string{
		"process.shell": "{\"command\":\"mysql --password `touch /tmp/owned`; ls\"}",
		"process.exec":  `{"argv":["sh"],"stdin":"ls --password 'touch;/tmp/owned1'"}`,
	} {
		r := w.call(t.Context(), tool, args)
		if r.Reason != "not_approvable_masked" || r.Started || len(w.asked) != 0 || !has(r.Sentence, "portcullis secrets set NAME") {
			t.Errorf("%s %s: %s; asked %d", r.Status, r.Reason, r.Sentence, len(w.asked))
		}
		e, err := w.host.Explainer(t.Context(), host.Supposed{Core: "runner", Workspace: w.work})
		if err != nil {
			t.Fatal(err)
		}
		x, err := e.Explain(t.Context(), tool, []byte(args))
		e.Close()
		if j := x.Judge(); err != nil || j.Reason != "not_approvable_masked" {
			t.Errorf("explained as %+v, %v", j, err)
		}
	}
}
