package command

// rule is one row of what is known of a program. With neither flags, begins, sub nor stdin the program as such is the
// finding.
type rule struct {
	kind     Kind
	programs string // names in the spelling of [programs], with * for a prefix
	flags    string // options that make the row apply: "--long", "-s" (one letter, in any cluster), "-word"
	begins   string // beginnings of words that make it apply
	sub      string // the row is for these sub-commands only, wherever they stand
	global   bool   // only words in front of the sub-command count
	values   string // options in front of the sub-command that take the next word as their value
	bundle   bool   // the first word is a cluster of short options even without a dash, as tar's and ar's
	stdin    bool   // standard input makes the row apply
	why      string
	source   string
}

// rules is the table. It is made anew for each caller, so that nobody can change it. GTFOBins stands for
// gtfobins.github.io, where the entry of the program has the example.
func rules() []rule {
	const (
		shells       = "sh bash dash ash zsh ksh mksh fish csh tcsh rc es posh sash rbash hush yash nu elvish xonsh pwsh powershell cmd"
		gitValues    = "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source --list-cmds"
		interpreters = "python* pypy* ipython* node nodejs deno bun perl* ruby* irb jruby php* lua* luajit tclsh wish expect r rscript julia guile racket sbcl clisp ghci runghc ocaml elixir erl escript iex groovy jshell osascript wscript cscript java javaw jrunscript kotlin scala dart swift"
	)
	return []rule{
		// Programs that take code.
		{kind: Code, programs: shells, flags: "-c --command -command -encodedcommand --init-file --rcfile -o -O", begins: "/c /k", why: "runs the text behind it as shell commands", source: "sh(1), bash(1)"},
		{kind: Code, programs: shells, flags: "-s", stdin: true, why: "reads its commands from standard input", source: "sh(1)"},
		{kind: Interpreter, programs: shells, why: "runs a script", source: "sh(1)"},
		{kind: Code, programs: "python* pypy* ipython*", flags: "-c -i", stdin: true, why: "runs the text it is given", source: "python(1)"},
		{kind: Code, programs: "node nodejs bun", flags: "-e -p -r --eval --print --require --import --loader --experimental-loader --inspect --inspect-brk --env-file", stdin: true, why: "runs the text or module it is given", source: "node(1)"},
		{kind: Code, programs: "deno", flags: "--eval", begins: "eval repl", stdin: true, why: "runs the text it is given", source: "deno(1)"},
		{kind: Code, programs: "perl*", flags: "-e -E -M -m -d -I", stdin: true, why: "runs the text or module it is given", source: "perlrun(1), GTFOBins: perl"},
		{kind: Code, programs: "ruby* jruby", flags: "-e -r -I", stdin: true, why: "runs the text or file it is given", source: "ruby(1), GTFOBins: ruby"},
		{kind: Code, programs: "php*", flags: "-r -B -R -E -d -a --run", stdin: true, why: "runs the text it is given", source: "php(1), GTFOBins: php"},
		{kind: Code, programs: "lua* luajit", flags: "-e -l -i", stdin: true, why: "runs the text it is given", source: "lua(1), GTFOBins: lua"},
		{kind: Code, programs: "r rscript julia guile racket sbcl ocaml elixir erl groovy osascript tclsh wish expect", flags: "-e -E -c --eval --expr -eval -run --load -l", stdin: true, why: "runs the text it is given", source: "the programs' manuals"},
		{kind: Code, programs: "java javaw", flags: "-javaagent -agentlib -agentpath -XX:OnError -XX:OnOutOfMemoryError --class-path -cp -classpath", begins: "@ -javaagent -agentlib -agentpath -XX:On", why: "loads or names what it runs", source: "java(1)"},
		{kind: Interpreter, programs: interpreters, why: "runs a script", source: "the programs' manuals"},
		{kind: Interpreter, programs: "awk gawk mawk nawk sed gsed ed red ex dc bc m4 jshell gnuplot octave", why: "runs a program of its own language, which can run commands or write files", source: "GTFOBins: awk, sed, ed, dc"},
		{kind: Code, programs: "awk gawk mawk nawk", flags: "-f -l -i --file --load --include --exec", why: "reads its program from a file", source: "gawk(1)"},
		{kind: Code, programs: "sed gsed", flags: "-f --file", why: "reads its program from a file, which can run commands", source: "sed(1), command e"},
		{kind: Code, programs: "vi vim vim.* nvim view ex rvim gvim", flags: "-c -S -s -u --cmd", begins: "+", why: "runs an editor command", source: "vim(1), GTFOBins: vim"},
		{kind: Code, programs: "emacs emacsclient", flags: "-f -l -e --eval --funcall --load --batch --script -batch -eval", begins: "+", why: "runs an editor command", source: "emacs(1), GTFOBins: emacs"},
		{kind: Interpreter, programs: "vi vim vim.* nvim view rvim gvim emacs emacsclient nano pico joe", why: "is an editor, which can run commands", source: "GTFOBins: vi, emacs, nano"},

		// Options that name a program.
		{kind: Code, programs: "git", flags: "-c --config-env --exec-path --git-dir --work-tree -p --paginate", global: true, values: gitValues, why: "sets configuration that can name programs to run", source: "git(1), git-config(1); GTFOBins: git"},
		{kind: Code, programs: "git", flags: "--upload-pack --receive-pack --exec --ext-diff --textconv --open-files-in-pager --template --extcmd --tool --reference-if-able --trailer --show-signature", begins: "ext:: fd::", why: "names a program to run", source: "git-clone(1), git-push(1), git-diff(1), gitremote-helpers(7)"},
		{kind: Code, programs: "git", sub: "clone fetch pull ls-remote", flags: "-u -c --config", why: "names a program to run on the other side or sets configuration", source: "git-clone(1)"},
		{kind: Code, programs: "git", sub: "grep", flags: "-O", why: "opens the files with a program", source: "git-grep(1)"},
		{kind: Code, programs: "git", sub: "rebase", flags: "-x", why: "runs a command after each commit", source: "git-rebase(1)"},
		{kind: Code, programs: "git", sub: "config bisect filter-branch difftool mergetool instaweb daemon send-email credential hook submodule upload-pack receive-pack shell http-backend remote-ext maintenance", why: "runs programs, or changes what later calls of git run", source: "git-config(1), git-bisect(1), git-submodule(1)"},
		{kind: Code, programs: "hg", flags: "--config --debugger --cwd", why: "sets configuration that can name programs to run", source: "hg(1), GTFOBins: hg"},
		{kind: Code, programs: "svn", flags: "--config-option --config-dir --diff-cmd --diff3-cmd --editor-cmd", why: "names a program to run", source: "svn(1)"},
		{kind: Code, programs: "cvs", flags: "-e -d", why: "names a program to run", source: "cvs(1)"},
		{kind: Code, programs: "tar gtar bsdtar", flags: "--to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rmt-command --rsh-command -I -F", bundle: true, why: "names a program to run", source: "tar(1); GTFOBins: tar"},
		{kind: Code, programs: "cpio", flags: "--rsh-command", why: "names a program to run", source: "cpio(1)"},
		{kind: Code, programs: "zip", flags: "-T -TT --unzip-command", why: "names a program to run", source: "zip(1); GTFOBins: zip"},
		{kind: Code, programs: "ar ld ld.* gold lld", flags: "--plugin -plugin", why: "loads a plugin", source: "ar(1), ld(1)"},
		{kind: Code, programs: "find gfind bfs", flags: "-exec -execdir -ok -okdir", why: "runs a command for each file", source: "find(1); GTFOBins: find"},
		{kind: Code, programs: "find gfind bfs", flags: "-fprint -fprint0 -fprintf -fls", why: "writes a file", source: "find(1)"},
		{kind: Code, programs: "fd fdfind", flags: "-x -X --exec --exec-batch", why: "runs a command for each file", source: "fd(1)"},
		{kind: Code, programs: "rg", flags: "--pre --hostname-bin", why: "names a program to run", source: "rg(1)"},
		{kind: Code, programs: "sort gsort", flags: "--compress-program", why: "names a program to run", source: "sort(1)"},
		{kind: Code, programs: "split gsplit", flags: "--filter", why: "runs a command for each piece", source: "split(1); GTFOBins: split"},
		{kind: Code, programs: "ssh scp sftp slogin autossh", flags: "-o -F -S -D -E", why: "sets an option that can name a program to run", source: "ssh(1), ssh_config(5) ProxyCommand; GTFOBins: ssh"},
		{kind: Code, programs: "ssh-keygen ssh-add ssh-agent", flags: "-D -P -s", why: "loads a library", source: "ssh-keygen(1), ssh-add(1); GTFOBins: ssh-keygen"},
		{kind: Code, programs: "fzf sk", flags: "--preview --bind --execute --become", why: "runs a command for what is chosen", source: "fzf(1)"},
		{kind: Code, programs: "ip", sub: "netns vrf", why: "runs a command in another network", source: "ip-netns(8); GTFOBins: ip"},
		{kind: Code, programs: "ip", flags: "-b -batch -force", why: "reads its commands from a file", source: "ip(8); GTFOBins: ip"},
		{kind: Code, programs: "rsync", flags: "-e --rsh --rsync-path -M --remote-option --files-from --daemon --config", why: "names a program to run", source: "rsync(1); GTFOBins: rsync"},
		{kind: Code, programs: "curl", flags: "-o -O -K -J --output --remote-name --remote-name-all --output-dir --config --engine --dump-header -D --trace --trace-ascii --cookie-jar --stderr --libcurl --create-dirs --proxy-header --unix-socket", why: "writes files or reads its options from one", source: "curl(1); GTFOBins: curl"},
		{kind: Code, programs: "wget", flags: "-e -O -P -i --execute --config --use-askpass --output-document --output-file --post-file --body-file --input-file --directory-prefix", why: "writes files, or sets what it runs", source: "wget(1); GTFOBins: wget"},
		{kind: Code, programs: "socat", why: "connects anything with any program", source: "socat(1); GTFOBins: socat"},
		{kind: Code, programs: "nc ncat netcat nc.*", flags: "-e -c --exec --sh-exec --lua-exec", why: "names a program to run", source: "ncat(1); GTFOBins: nc"},
		{kind: Code, programs: "nmap", flags: "--script --interactive --datadir --servicedb", why: "runs scripts", source: "nmap(1); GTFOBins: nmap"},
		{kind: Code, programs: "tcpdump", flags: "-z -w", why: "names a program to run", source: "tcpdump(1); GTFOBins: tcpdump"},
		{kind: Code, programs: "openssl", flags: "-engine -provider -provider-path -config", why: "loads a library", source: "openssl(1); GTFOBins: openssl"},
		{kind: Code, programs: "gpg gpg2 gpgv", flags: "--agent-program --dirmngr-program --keyserver-options --photo-viewer --options --homedir --pinentry-program", why: "names a program to run", source: "gpg(1)"},
		{kind: Code, programs: "man", flags: "-P -H --pager --html -C --config-file", why: "names a program to run", source: "man(1); GTFOBins: man"},
		{kind: Code, programs: "less more most pg", begins: "+ -k -o -O", flags: "--lesskey-file --lesskey-src --log-file", why: "runs a pager command", source: "less(1); GTFOBins: less"},
		{kind: Code, programs: "bat batcat delta", flags: "--pager", why: "names a program to run", source: "bat(1)"},
		{kind: Code, programs: "gcc* cc c++ g++* c89* c99* clang* cpp* x86_64-linux-gnu-* aarch64-linux-gnu-* i686-linux-gnu-* arm-linux-gnu*", flags: "-wrapper -fplugin -specs --specs -B -load -Xclang", begins: "@ -fplugin", why: "names a program or plugin to run", source: "gcc(1)"},
		{kind: Code, programs: "sqlite3 sqlite", flags: "-cmd -init --cmd --init", begins: ".", stdin: true, why: "takes dot-commands, which can run programs", source: "sqlite3(1); GTFOBins: sqlite3"},
		{kind: Code, programs: "psql mysql mariadb mongo mongosh redis-cli", flags: "-c -e -f --command --execute --file --eval -o --pager --tee", stdin: true, why: "takes commands, which can run programs", source: "psql(1); GTFOBins: psql, mysql"},
		{kind: Code, programs: "pandoc", flags: "--filter --lua-filter --pdf-engine --pdf-engine-opt --defaults -F -L -d --metadata-file --data-dir --extract-media", why: "runs a filter", source: "pandoc(1)"},
		{kind: Code, programs: "tex latex pdflatex xelatex lualatex pdftex luatex", flags: "-shell-escape --shell-escape -output-directory -ini", why: "lets a document run commands", source: "pdflatex(1); GTFOBins: pdflatex"},
		{kind: Code, programs: "gs ghostscript", flags: "-dNOSAFER -dDELAYSAFER -c -f", why: "lets a document run commands", source: "gs(1)"},
		{kind: Code, programs: "exiftool", flags: "-if -config -execute -p", why: "evaluates Perl", source: "exiftool(1); GTFOBins: exiftool"},
		{kind: Code, programs: "apt apt-get aptitude dpkg rpm yum dnf", flags: "-o --option -c --config-file --pre-invoke --eval -E --define --setopt --root --admindir", why: "sets what it runs", source: "apt.conf(5); GTFOBins: apt-get, rpm"},
		{kind: Code, programs: "go", flags: "-exec -toolexec -vettool -ldflags -gcflags -asmflags -overlay -modfile -C --exec --toolexec --vettool", why: "names a program to run", source: "go help build"},
		{kind: Code, programs: "cargo", flags: "--config -Z", why: "sets what it runs", source: "cargo(1)"},
		{kind: Code, programs: "make gmake bmake", flags: "--eval -E", begins: "SHELL= .SHELLFLAGS= MAKEFLAGS=", stdin: true, why: "runs the text it is given", source: "make(1); GTFOBins: make"},
		{kind: Code, programs: "npx pnpx bunx", why: "fetches a package and runs it", source: "npx(1)"},
		{kind: Code, programs: "npm yarn pnpm", sub: "exec x dlx create init explore config set", why: "fetches or names what it runs", source: "npm(1)"},
		{kind: Code, programs: "npm yarn pnpm", flags: "--script-shell --node-options --prefix --userconfig --globalconfig --editor --viewer --git", why: "names a program to run", source: "npm config"},
		{kind: Code, programs: "docker podman nerdctl", flags: "-v --volume --mount --privileged --device --pid --entrypoint --config --host -H", why: "reaches the machine from a container", source: "docker-run(1); GTFOBins: docker"},
		{kind: Code, programs: "env", flags: "-S --split-string", why: "takes a command line apart and runs it", source: "env(1)"},
		{kind: Code, programs: "flock script watch su runuser", flags: "-c --command", why: "runs text as shell commands", source: "flock(1), script(1); GTFOBins: flock"},
		{kind: Code, programs: "at batch", stdin: true, flags: "-f", why: "runs later what it reads, when nobody watches", source: "at(1)"},
		{kind: Code, programs: "crontab systemd-run", why: "runs something later, when nobody watches", source: "crontab(1), systemd-run(1)"},

		// Programs that run others.
		{kind: Wrapper, programs: "env nice ionice nohup timeout setsid stdbuf unbuffer time chrt taskset numactl setarch linux32 linux64 setpriv prlimit flock xargs parallel busybox toybox box sudo doas su runuser pkexec chroot unshare nsenter capsh bwrap firejail script watch entr inotifywait strace ltrace gdb lldb perf valgrind rr ld-linux* ld.so ld-musl* tmux screen dtach daemonize start-stop-daemon systemd-run at batch command exec nsjail proot fakeroot catchsegv dbus-run-session xvfb-run ssh-agent gpg-agent logsave cpulimit torsocks tsocks trickle proxychains* ansible* vagrant runcon choom uclampset coresched schedtool cset aa-exec sg newgrp run-parts systemd-inhibit systemd-cat systemd-nspawn machinectl dbus-launch faketime eatmydata rlwrap cgexec cgclassify sem hyperfine mpirun mpiexec orterun srun chronic ifne ifdata pee vipe zrun xterm uxterm urxvt* gnome-terminal konsole kitty alacritty flatpak snap tini dumb-init catatonit gosu su-exec chpst envdir softlimit setuidgid setlock s6-* execlineb runsv caffeinate arch sshpass pv coreutils gtimeout gnice genv gnohup gstdbuf gxargs gtime", why: "runs the command it names", source: "GTFOBins: env, nice, timeout, xargs, busybox, sudo"},
		{kind: Wrapper, programs: "docker podman nerdctl kubectl oc helm lxc lxc-* virsh qemu*", why: "runs commands elsewhere, with other rights", source: "docker(1), kubectl(1)"},
		{kind: Wrapper, programs: "ssh slogin autossh mosh rsh telnet", why: "runs commands on another machine", source: "ssh(1)"},

		// Programs that do what the project's files say.
		{kind: Project, programs: "make gmake bmake ninja meson cmake ctest scons bazel buck just task rake git hg svn gradle gradlew mvn mvnw ant sbt lein msbuild dotnet xcodebuild npm yarn pnpm go gofmt cargo rustc rustup pip* pipx poetry uv tox nox pytest hatch pdm bundle bundler gem composer phpunit cabal stack mix rebar* dune opam nix* guix terraform tofu pulumi packer pre-commit lerna turbo nx jest vitest mocha eslint prettier webpack vite rollup tsc tsx ts-node", why: "runs what files of the project say", source: "the tools' manuals"},

		// Programs that speak to other machines.
		{kind: Network, programs: "curl wget aria2c http https httpie xh nc ncat netcat nc.* nmap ftp sftp scp rsync tftp lftp telnet dig nslookup host whois ping traceroute mail sendmail msmtp mutt rclone s3cmd aws gcloud az gh glab hub", why: "reaches the network past the egress rules", source: "the programs' manuals"},
		{kind: Network, programs: "git hg svn", sub: "clone fetch pull push ls-remote remote submodule archive update checkout co svn", why: "may reach the network past the egress rules", source: "git(1)"},
	}
}
