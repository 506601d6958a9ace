package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/command"
)

// line reads words as a shell would split them, without quotes; program→resolved names both names of the program, and a
// trailing "<" gives it standard input.
func line(text string) command.Line {
	w := strings.Fields(text)
	l := command.Line{Names: strings.Split(w[0], "→"), Words: w[1:]}
	if n := len(l.Words); n > 0 && l.Words[n-1] == "<" {
		l.Words, l.Stdin = l.Words[:n-1], true
	}
	return l
}

func TestWhatIsFoundInACommandLine(t *testing.T) {
	for text, want := range map[string]command.Kind{
		// Nothing is known against these: they are still asked about, but an answer may be remembered.
		// What git does by itself, the files of the project say: hooks, filters, pagers, monitors.
		"git status": command.Project, "git log -p -c": command.Project, "git switch -c new": command.Project, "git -C sub status": command.Project,
		"git commit -m x": command.Project, "git diff --stat": command.Project, "hg status": command.Project, "svn info": command.Project,
		"ls -la": "", "cat README.md": "", "tar -czf a.tgz dir": "", "tar xf a.tar": "", "find . -name *.go": "", "grep -R x .": "",
		"sort -o out in": "", "rg pattern": "", "/usr/bin/wc -l f": "", "cp a b": "", "rm -rf x": "", "jq .a f.json": "",
		// Options that are code.
		"git -c core.pager=id log": command.Code, "git -C x -c alias.x=!id x": command.Code, "git --config-env=a=B log": command.Code,
		"git --exec-path=/tmp x": command.Code, "git --git-dir /tmp/evil status": command.Code, "git -p log": command.Code,
		"git clone --upload-pack=id h:x": command.Code, "git clone -u id h:x": command.Code, "git clone --upload-p=id x": command.Code,
		"git diff --ext-diff": command.Code, "git log --textconv": command.Code, "git grep -Oid x": command.Code, "git rebase -x id main": command.Code,
		"git clone ext::sh": command.Code, "git config alias.x !id": command.Code, "git bisect run id": command.Code, "git submodule foreach id": command.Code,
		"git push --receive-pack=id x": command.Code, "git archive --exec=id --remote=x": command.Code,
		"tar --to-command=id -xf a": command.Code, "tar -xf a --checkpoint=1 --checkpoint-action=exec=id": command.Code, "tar cIf id a": command.Code,
		"tar -cIid -f a b": command.Code, "tar --use-comp=id -cf a b": command.Code, "tar -xf a --to-c id": command.Code,
		"find . -exec id ;": command.Code, "find . -execdir id ;": command.Code, "find . -ok id ;": command.Code, "find . -fprintf f x": command.Code,
		"ssh -oProxyCommand=id h": command.Code, "ssh -F cfg h": command.Code, "scp -S id a h:b": command.Code, "rsync -e id a h:b": command.Code,
		"rsync -ae id a b": command.Code, "rsync --rsh=id a b": command.Code, "curl -o f http://x": command.Code, "curl -sSLo f http://x": command.Code,
		"curl --config f": command.Code, "curl --conf f": command.Code, "wget -O f http://x": command.Code, "sort --compress-program=id f": command.Code,
		"sort --compress-p id f": command.Code, "split --filter=id f": command.Code, "zip -TT id a b": command.Code, "man -P id x": command.Code,
		"vim -c !id": command.Code, "vim +!id f": command.Code, "vim.tiny --cmd x": command.Code, "emacs --eval x": command.Code, "less +!id f": command.Code,
		"rg --pre id x": command.Code, "fd -x id": command.Code, "gcc -wrapper id,x a.c": command.Code, "gcc -fplugin=x.so a.c": command.Code, "gcc @opts": command.Code,
		"openssl -engine x": command.Code, "sqlite3 a.db .shell": command.Code, "sqlite3 a.db <": command.Code, "psql -c x": command.Code, "pdflatex -shell-escape a": command.Code,
		"pandoc --lua-filter=x a": command.Code, "nmap --script x h": command.Code, "tcpdump -z id": command.Code, "make --eval=x": command.Code, "make SHELL=/tmp/x": command.Code,
		"go test -exec id ./...": command.Code, "go build -toolexec=id": command.Code, "cargo --config x build": command.Code, "npx cowsay": command.Code,
		"npm exec x": command.Code, "npm --script-shell=x run y": command.Code, "docker run -v /:/m x": command.Code, "socat - EXEC:id": command.Code, "nc -e /bin/sh h 1": command.Code,
		"crontab f": command.Code, "svn --diff-cmd id diff": command.Code, "hg --config x log": command.Code, "exiftool -if x f": command.Code, "apt-get -o x=y update": command.Code,
		// Interpreters with code on the line, in a cluster, or on standard input.
		"sh -c id": command.Code, "bash -lc id": command.Code, "sh -ec id": command.Code, "sh→dash -c id": command.Code, "sh <": command.Code, "bash -s": command.Code,
		"python3 -c x": command.Code, "python3.11 -Ic x": command.Code, "node -e x": command.Code, "node --eval=x": command.Code, "node -pe x": command.Code, "node --require ./x a.js": command.Code,
		"perl -e x": command.Code, "perl -ne x f": command.Code, "perl5.36 -Mx f": command.Code, "ruby -e x": command.Code, "php -r x": command.Code, "lua5.4 -e x": command.Code,
		"awk -f p.awk f": command.Code, "sed -f p.sed f": command.Code, "deno eval x": command.Code, "python3 <": command.Code,
		// A wrapper is judged with what is behind it.
		"env sh -c id": command.Code, "/usr/bin/env bash -lc id": command.Code, "env -S sh": command.Code, "env --split-s=sh": command.Code, "env LD_PRELOAD=x.so ls": command.Code,
		"timeout 5 nice -n 1 python3 -c x": command.Code, "busybox sh -c id": command.Code, "xargs -n1 find . -exec id ;": command.Code, "sudo git -c a=b log": command.Code,
		"env GIT_SSH_COMMAND=id git fetch": command.Code, "nohup env -i A=b git --exec-path=/x y": command.Code, "flock f -c id": command.Code,
		"choom -n 0 -- sh -c id": command.Code, "runcon t sh -c id": command.Code, "sg adm -c id": command.Wrapper, "systemd-inhibit sh -c id": command.Code,
		"mpirun -n 1 sh -c id": command.Code, "hyperfine id": command.Wrapper, "rlwrap ls": command.Wrapper, "xterm -e id": command.Wrapper, "flatpak run x": command.Wrapper,
		"ip netns exec n id": command.Code, "ip addr": "", "java -jar x.jar": command.Interpreter, "java -javaagent:x.jar -jar y.jar": command.Code, "ld.bfd -plugin x.so a.o": command.Code,
		"fzf --preview id": command.Code, "ssh-keygen -D x.so": command.Code, "aarch64-linux-gnu-gcc -wrapper id a.c": command.Code, "c99 -wrapper id a.c": command.Code, "posh -c id": command.Code,
		"env " + strings.Repeat("env ", 40) + "ls": command.Code,
		"env true": command.Wrapper, "nice ls": command.Wrapper, "nohup ls": command.Wrapper, "timeout 5 ls": command.Wrapper, "sudo ls": command.Wrapper, "busybox ls": command.Wrapper,
		"xargs ls": command.Wrapper, "time -p rm -rf x": command.Wrapper, "ls→busybox -l": command.Wrapper, "ld-linux-x86-64.so.2 /bin/ls": command.Wrapper, "setsid ls": command.Wrapper,
		"strace ls": command.Wrapper, "ssh h": command.Wrapper, "kubectl get pods": command.Wrapper, "env sh s.sh": command.Wrapper,
		"sh s.sh": command.Interpreter, "python3 x.py": command.Interpreter, "node x.js": command.Interpreter, "awk {print} f": command.Interpreter, "sed s/a/b/ f": command.Interpreter,
		"vim f": command.Interpreter, "perl x.pl": command.Interpreter, "BASH.EXE x": command.Interpreter,
		"make": command.Project, "make all": command.Project, "npm run build": command.Project, "go test ./...": command.Project, "cargo build": command.Project, "pytest": command.Project,
		"git fetch": command.Project, "git push origin main": command.Project, "curl http://x": command.Network, "dig x": command.Network,
	} {
		got := command.Judge(line(text))
		if kind := worst(got); kind != want {
			t.Errorf("%q: %q by %v, want %q", text, kind, got, want)
		}
		for _, f := range got {
			if f.Why == "" || f.Source == "" || f.Program == "" || f.Word == "" || !strings.HasPrefix(f.String(), f.Program+" ") {
				t.Errorf("%q: %+v says too little", text, f)
			}
		}
	}
}

// A word is told whole or by what it was matched by: what is secret in it is hidden later, and a part of it would not be found.
func TestNoWordIsToldInPart(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for _, words := range [][]string{
		{"git", "--config-env=x=%"},
		{"git", "-chttp.extraheader=%"},
		{"sh", "-c%"},
		{"env", "LD_PRELOAD=%"},
		{"find", "-exec%", "x"},
		append([]string{"env"}, append(slices.Repeat([]string{"sh"}, 40), "/%/sh")...),
		{"tar", "--to-command=%"},
		{"ssh", "-oProxyCommand=%"},
	} {
		for before := range 120 {
			own := slices.Clone(words)
			for i, w := range own {
				own[i] = strings.ReplaceAll(w, "%", strings.Repeat("x", before)+secret)
			}
			for _, f := range command.Judge(command.Line{Names: own[:1], Words: own[1:]}) {
				if said := strings.ReplaceAll(f.String(), secret, ""); strings.Contains(said, secret[:3]) || len(f.Word) > 100 {
					t.Fatalf("%q: %q", own, f.String())
				}
			}
		}
	}
}

func TestVariablesThatNobodyMaySet(t *testing.T) {
	for _, name := range strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT ld_preload DYLD_INSERT_LIBRARIES GLIBC_TUNABLES NODE_OPTIONS NODE_PATH PYTHONPATH
		PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5LIB RUBYOPT RUBYLIB BASH_ENV ENV SHELLOPTS PS4 IFS PROMPT_COMMAND BASH_FUNC_ls GIT_SSH_COMMAND GIT_SSH GIT_EXEC_PATH
		GIT_CONFIG_COUNT GIT_EXTERNAL_DIFF GIT_DIR GIT_PAGER EDITOR VISUAL PAGER LESSOPEN BROWSER SSH_ASKPASS SSH_AUTH_SOCK JAVA_TOOL_OPTIONS CLASSPATH GOFLAGS GOROOT
		CC MAKEFLAGS RUSTC_WRAPPER CARGO_HOME npm_config_script_shell TAR_OPTIONS RSYNC_RSH OPENSSL_CONF SSLKEYLOGFILE CURL_HOME PATH HOME TMPDIR XDG_CONFIG_HOME
		PORTCULLIS_HOME DOTNET_STARTUP_HOOKS LUA_INIT PHPRC ZDOTDIR TERMINFO`) {
		if why, refused := command.RefusedVariable(name); !refused || why == "" {
			t.Errorf("%s may be set", name)
		}
	}
	for _, name := range strings.Fields(`CI DEBUG GITHUB_TOKEN MAIL_TOKEN AWS_SECRET_ACCESS_KEY GOCACHE GOOS CGO_ENABLED GIT_AUTHOR_NAME GIT_TERMINAL_PROMPT PYTHONUNBUFFERED NO_COLOR LANG TZ
		DATABASE_URL`) {
		if why, refused := command.RefusedVariable(name); refused {
			t.Errorf("%s may not be set: it %s", name, why)
		}
	}
	for _, name := range strings.Fields("HTTPS_PROXY https_proxy ALL_PROXY NO_PROXY LANG LC_ALL LC_TIME TZ TERM DOCKER_HOST GNUPGHOME VIMINIT PATH LD_PRELOAD") {
		if why, refused := command.RefusedForSecret(name); !refused || why == "" {
			t.Errorf("a secret may stand in %s", name)
		}
	}
	for _, name := range strings.Fields("MAIL_TOKEN GITHUB_TOKEN AWS_SECRET_ACCESS_KEY PROXY_TOKEN DATABASE_URL CARGO_REGISTRY_TOKEN") {
		if why, refused := command.RefusedForSecret(name); refused {
			t.Errorf("no secret may stand in %s: it %s", name, why)
		}
	}
	for _, p := range command.Passed() {
		if !command.ValidVariable(p) || strings.HasPrefix(p, "LD_") {
			t.Errorf("%s is passed on", p)
		}
	}
	for name, valid := range map[string]bool{"A": true, "_a1": true, "": false, "1A": false, "A=B": false, "A B": false, "Ä": false, "A\x00": false, strings.Repeat("A", 129): false} {
		if command.ValidVariable(name) != valid {
			t.Errorf("%q valid is not %v", name, valid)
		}
	}
}

// FuzzWordsOnlyAdd states what the judgement of a command line rests on: a further word at its end takes no finding away,
// and a wrapper in front of a line keeps every word that was found to be code. It never fails and is bounded.
func FuzzWordsOnlyAdd(f *testing.F) {
	for _, s := range []string{"git\x00-c\x00a=b", "env\x00A=b\x00sh\x00-c\x00id", "tar\x00cIf", "find\x00.\x00-exec", "sh", "\x00", "busybox\x00ls", "git\x00-C\x00x\x00log", "ls\x00--\x00-c"} {
		f.Add(s, "-c", false)
	}
	f.Fuzz(func(t *testing.T, text, more string, stdin bool) {
		w := strings.Split(text, "\x00")
		w = w[:min(len(w), 64)]
		l := command.Line{Names: w[:1], Words: w[1:], Stdin: stdin}
		had := command.Judge(l)
		if len(had) > 32 {
			t.Fatalf("%d findings", len(had))
		}
		l.Words = append(slices.Clone(l.Words), more)
		now := command.Judge(l)
		if len(now) < len(had) {
			t.Fatalf("%q found %v, and with %q behind it %v", w, had, more, now)
		}
		wrapped := command.Judge(command.Line{Names: []string{"env"}, Words: w, Stdin: stdin})
		if worst(wrapped) == "" || worst(had) == command.Code && worst(wrapped) != command.Code {
			t.Fatalf("%q is %v, and behind env it is %v", w, had, wrapped)
		}
	})
}

// worst is the gravest kind among findings; empty when there is none.
func worst(all []command.Finding) command.Kind {
	for _, k := range []command.Kind{command.Code, command.Wrapper, command.Interpreter, command.Project, command.Network} {
		if slices.ContainsFunc(all, func(f command.Finding) bool { return f.Kind == k }) {
			return k
		}
	}
	return ""
}
