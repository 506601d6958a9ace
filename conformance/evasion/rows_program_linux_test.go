package evasion_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
)

// after is a row whose first call is allowed for the session; the second is another call and must be asked about.
func after(class, name string, first []string, second ...string) row {
	return row{class, name, func(x *attempt) {
		x.allowed(x.run(first...))
		x.allowed(x.run(first...)) // covered: else the row would show nothing
		if len(x.p.asked) != 1 {
			x.Fatalf("asked %d times about one command", len(x.p.asked))
		}
		x.asks(func() effect.Result { return x.run(second...) })
	}}
}

// refuses is a row whose call is refused before anybody is asked.
func refuses(class, name string, p program, reasons ...string) row {
	return row{class, name, func(x *attempt) { x.refused(x.start(p), reasons...) }}
}

// shellRows: the first word is looked at and the whole is run by a shell. Here no shell reads words, and a text for a shell
// is one question of its own.
func shellRows() []row {
	listed := []string{"ls", "src"}
	shell := func(name, first, second string) row {
		return row{"F22", name, func(x *attempt) {
			x.rule.Shell = true
			if first == second {
				x.never(func() effect.Result { return x.start(program{Command: first}) })
				return
			}
			x.allowed(x.start(program{Command: first}))
			x.asks(func() effect.Result { return x.start(program{Command: second}) })
		}}
	}
	return []row{
		after("F22", "and, as words", listed, "ls", "src", "&&", "touch", "x"),
		after("F22", "a semicolon in a word", listed, "ls", "src; touch x"),
		after("F22", "a pipe in a word", listed, "ls", "src|sh"),
		after("F22", "a substitution in a word", listed, "ls", "src$(id)"),
		after("F22", "backquotes in a word", listed, "ls", "src`id`"),
		after("F22", "a line break in a word", listed, "ls", "src\nrm -rf d"),
		after("F22", "one word more, empty", listed, "ls", "src", ""),
		after("F22", "a trailing space", listed, "ls", "src "),
		refuses("F22", "a line for a program", program{Argv: []string{"git status && touch x"}}, "program_not_found"),
		refuses("F22", "a shell that is off", program{Command: "git status && touch x"}, "tool_not_found"),
		refuses("F22", "sh with a text", program{Argv: []string{"sh", "-c", "git status && touch x"}}, "code_in_words"),
		refuses("F22", "sh fed on standard input", program{Argv: []string{"sh"}, Stdin: "touch x"}, "code_in_words"),
		shell("a shell text, again", "true", "true"),
		shell("another shell text", "true", "true && true"),
	}
}

// wrapperRows: a program that runs others is allowed for the session once, and with it everything it can run.
func wrapperRows() []row {
	wrapper := func(class string, argv ...string) row {
		return row{class, "always " + strings.Join(argv, " "), func(x *attempt) {
			x.rule.CodeFlags = true // the core wants to be asked about code: then it is, each time
			x.never(func() effect.Result { return x.run(argv...) })
		}}
	}
	return []row{
		wrapper("F23", "env", "true"),
		wrapper("F23", "env", "-S", "sh -c id"),
		wrapper("F23", "zsh", "-lc", "id"),
		wrapper("F23", "bash", "-c", "id"),
		wrapper("F23", "busybox", "sh"),
		wrapper("F23", "sudo", "true"),
		wrapper("F23", "nice", "true"),
		wrapper("F23", "timeout", "5", "true"),
		wrapper("F23", "xargs", "true"),
		wrapper("F23", "setsid", "true"),
		wrapper("F23", "script", "-c", "id"),
		wrapper("F23", "flock", "f", "true"),
		wrapper("F23", "strace", "true"),
		wrapper("F23", "find", ".", "-exec", "id", ";"),
		wrapper("F23", "awk", "BEGIN{}"),
		wrapper("F23", "perl", "-e", "1"),
		wrapper("F23", "python3", "-c", "1"),
		wrapper("F23", "node", "-e", "1"),
		wrapper("F23", "make"),
		wrapper("F23", "ssh", "host", "id"),
		{"F23", "env true, then env sh -c", func(x *attempt) {
			x.allowed(x.run("env", "true"))
			x.refused(x.run("env", "sh", "-c", "id"), "code_in_words")
		}},
		after("P-6", "a line break after echo x", []string{"echo", "x"}, "echo", "x\nrm -rf d"),
		refuses("P-6", "env bash -lc by its path", program{Argv: []string{"env", "bash", "-lc", "rm -rf d"}}, "code_in_words"),
		refuses("P-6", "sort --compress-program", program{Argv: []string{"sort", "--compress-program=helper", "f"}}, "code_in_words"),
		after("P-6", "sort -o", []string{"sort", "f"}, "sort", "-o", "g", "f"),
		after("P-6", "grep -R", []string{"grep", "x", "f"}, "grep", "-R", "x", "/"),
		refuses("P-6", "tar --to-command", program{Argv: []string{"tar", "--to-command=sh", "-xf", "f"}}, "code_in_words"),
		refuses("P-6", "git -c core.pager", program{Argv: []string{"git", "-c", "core.pager=id", "log"}}, "code_in_words"),
	}
}

// environmentRows: the words are as approved and a variable makes the program another.
func environmentRows() []row {
	var rows []row
	for name := range strings.FieldsSeq("LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT NODE_OPTIONS GIT_SSH_COMMAND GIT_EXTERNAL_DIFF BASH_ENV PYTHONPATH PERL5OPT PATH ld_preload") {
		rows = append(rows, row{"F25", "approved ls, then with " + name, func(x *attempt) {
			x.allowed(x.run("ls", "src"))
			x.refused(x.start(program{Argv: []string{"ls", "src"}, Env: map[string]string{name: "x"}}), "variable_refused")
		}})
	}
	env := func(value string) program {
		return program{Argv: []string{"ls", "src"}, Env: map[string]string{"FOO": value}}
	}
	return append(rows,
		row{"F25", "a variable that may be set", func(x *attempt) {
			x.allowed(x.run("ls", "src"))
			q := x.asks(func() effect.Result { return x.start(env("1")) })
			if !strings.Contains(q.Plan, `"env":["FOO"]`) {
				x.Errorf("the plan does not name the variable: %s", q.Plan)
			}
		}},
		row{"F25", "another value of it", func(x *attempt) {
			x.allowed(x.start(env("1")))
			x.asks(func() effect.Result { return x.start(env("2")) })
		}},
		refuses("F25", "a variable that nobody declared", program{Argv: []string{"ls"}, Env: map[string]string{"BAR": "x"}}, "variable_not_listed"),
		refuses("F25", "a name that is two", program{Argv: []string{"ls"}, Env: map[string]string{"FOO=1\nLD_PRELOAD": "x"}}, "variable_refused"),
	)
}

// operandRows: what was approved is changed before it runs.
func operandRows() []row {
	during := func(name string, argv []string, before, change func(x *attempt)) row {
		return row{"F26", name, func(x *attempt) {
			before(x)
			x.p.during = func(approval.Question) { change(x) }
			x.refused(x.run(argv...), effect.ReasonOperandChanged)
		}}
	}
	later := func(name string, argv []string, before, change func(x *attempt)) row {
		return row{"F26", name, func(x *attempt) {
			before(x)
			x.allowed(x.run(argv...))
			change(x)
			x.asks(func() effect.Result { return x.run(argv...) })
		}}
	}
	write := func(text string) func(*attempt) { return func(x *attempt) { x.file("s.sh", text) } }
	remove := func(x *attempt) {
		if err := os.Remove(filepath.Join(x.turn.Workspace(), "s.sh")); err != nil {
			x.Fatal(err)
		}
	}
	nothing := func(*attempt) {}
	own := func(x *attempt) string { // a copy of the programs for this row alone
		dir := x.TempDir()
		copyFile(x.T, filepath.Join(x.bin, "cat"), filepath.Join(dir, "cat"))
		x.bin = dir
		return filepath.Join(dir, "cat")
	}
	link := func(to string) func(*attempt) {
		return func(x *attempt) {
			at := filepath.Join(x.turn.Workspace(), "s.sh")
			_ = os.Remove(at) // there may be none yet
			x.file("one", "1")
			x.file("two", "2")
			if err := os.Symlink(to, at); err != nil {
				x.Fatal(err)
			}
		}
	}
	swap := func(x *attempt) {
		to := filepath.Join(x.bin, "cat")
		if err := os.Remove(to); err != nil {
			x.Fatal(err)
		}
		copyFile(x.T, "/bin/echo", to)
	}
	return []row{
		during("the script while the question stands", []string{"sh", "s.sh"}, write("true"), write("rm -rf d")),
		during("the script is removed", []string{"sh", "s.sh"}, write("true"), remove),
		during("a file appears where none was", []string{"cat", "s.sh"}, nothing, write("x")),
		during("a link leads elsewhere", []string{"cat", "s.sh"}, link("one"), link("two")),
		during("the input of a harmless program", []string{"cat", "s.sh"}, write("a"), write("b")),
		during("the program itself", []string{"cat"}, func(x *attempt) { own(x) }, swap),
		later("the input after an allowance", []string{"cat", "s.sh"}, write("a"), write("b")),
		later("the program after an allowance", []string{"cat"}, func(x *attempt) { own(x) }, swap),
		later("the link after an allowance", []string{"cat", "s.sh"}, link("one"), link("two")),
		{"F26", "a name that finds another program", func(x *attempt) {
			own(x)
			x.allowed(x.run("cat"))
			x.bin = filepath.Dir(x.bin) + "-none:" + x.bin // the same program, from another folder of PATH first
			copyTo := x.TempDir()
			copyFile(x.T, "/bin/echo", filepath.Join(copyTo, "cat"))
			x.bin = copyTo + ":" + x.bin
			x.asks(func() effect.Result { return x.run("cat") })
		}},
		{"F26", "another folder to run in", func(x *attempt) {
			if err := os.Mkdir(filepath.Join(x.turn.Workspace(), "sub"), 0o700); err != nil {
				x.Fatal(err)
			}
			x.allowed(x.run("ls"))
			x.asks(func() effect.Result { return x.start(program{Argv: []string{"ls"}, Cwd: "sub"}) })
		}},
		{"F26", "other standard input", func(x *attempt) {
			x.allowed(x.start(program{Argv: []string{"cat"}, Stdin: "a"}))
			x.asks(func() effect.Result { return x.start(program{Argv: []string{"cat"}, Stdin: "b"}) })
		}},
	}
}
