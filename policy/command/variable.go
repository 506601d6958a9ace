package command

import (
	"slices"
	"strings"
)

// ValidVariable reports whether name can be the name of an environment variable: ^[A-Za-z_][A-Za-z0-9_]{0,127}$.
func ValidVariable(name string) bool {
	if name == "" || len(name) > 128 || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// variable is one row of what nobody may set; a name that ends in * is a prefix.
type variable struct{ names, why, source string }

// variables is the table. It is made anew for each caller, so that nobody can change it.
func variables() []variable {
	return []variable{
		{"LD_* DYLD_* GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH HOSTALIASES RESOLV_HOST_CONF LIBPATH SHLIB_PATH _RLD*", "changes which code is loaded into every program", "ld.so(8) secure-execution mode, dyld(1)"},
		{"MALLOC_TRACE MALLOC_PERTURB_ TCMALLOC_* ASAN_OPTIONS GCOV_PREFIX* LLVM_PROFILE_FILE", "makes a program write files", "ld.so(8), mallopt(3)"},
		{"BASH_ENV ENV BASH_FUNC_* SHELLOPTS BASHOPTS BASH_XTRACEFD PS0 PS1 PS2 PS4 PROMPT_COMMAND IFS CDPATH GLOBIGNORE ZDOTDIR FPATH FIGNORE KSH_ENV INPUTRC", "is read or run by shells", "bash(1), sudo env_delete"},
		{"NODE_OPTIONS NODE_PATH NODE_REPL_* NODE_EXTRA_CA_CERTS NODE_CHANNEL_FD NODE_V8_COVERAGE ELECTRON_RUN_AS_NODE DENO_* BUN_* NPM_CONFIG_* npm_config_* YARN_* PNPM_*", "makes Node and its tools load other code", "node(1) ENVIRONMENT, npm config"},
		{"PYTHON* PIP_* VIRTUAL_ENV CONDA_* UV_*", "makes Python load other code", "python(1) ENVIRONMENT VARIABLES"},
		{"PERL* RUBY* GEM_* BUNDLE_* RACK_* LUA_* LUA PHPRC PHP_* TCLLIBPATH TCL_LIBRARY R_* R_LIBS* GUILE_* JULIA_* ERL_* ELIXIR_*", "makes an interpreter load other code", "perlrun(1), ruby(1), lua(1), php(1)"},
		{"JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_HOME JAVA_OPTS CLASSPATH MAVEN_* GRADLE_* SBT_* KOTLIN_*", "makes a Java machine load other code", "java(1) JDK_JAVA_OPTIONS"},
		{"DOTNET_* COMPLUS_* COR_* CORECLR_* MONO_*", "makes .NET load other code", "learn.microsoft.com: .NET profiling variables"},
		{"GIT_*", "makes git run programs or use another repository", "git(1) ENVIRONMENT VARIABLES"},
		{"SSH_* SUDO_* SVN_* CVS_RSH CVSEDITOR HGRCPATH HGPLAIN HGEDITOR RSYNC_* TAR_OPTIONS TAPE GREP_OPTIONS GZIP XZ_* ZSTD_* UNZIP ZIPOPT LESS* MORE MANOPT POSIXLY_CORRECT", "adds options or programs to a tool", "the tools' manuals"},
		{"EDITOR VISUAL PAGER MANPAGER SYSTEMD_PAGER BROWSER SHELL TERMINFO TERMINFO_DIRS TERMCAP TERMPATH FCEDIT HISTFILE MAIL MAILPATH MAILCAPS", "names a program or file that tools run or read", "environ(7)"},
		{"MAKEFLAGS MAKEFILES MFLAGS GNUMAKEFLAGS CMAKE_* CC CXX CPP LD AR AS FC CFLAGS CXXFLAGS CPPFLAGS LDFLAGS COMPILER_PATH GCC_EXEC_PREFIX LIBRARY_PATH CPATH C_INCLUDE_PATH CCACHE_* PKG_CONFIG* RUSTC* RUSTFLAGS CARGO_* GOFLAGS GOROOT GOTOOLDIR GOENV GOPROXY GOSUMDB GONOSUMDB GOPRIVATE GOTOOLCHAIN GOAUTH CGO_*", "chooses what a build runs", "make(1), gcc(1), go help environment, cargo config"},
		{"OPENSSL_* SSL_CERT_* SSLKEYLOGFILE CURL_* WGETRC REQUESTS_CA_BUNDLE AWS_CONFIG_FILE AWS_CA_BUNDLE KUBECONFIG DOCKER_CONFIG ANSIBLE_*", "redirects trust, credentials or engines", "openssl-env(7), curl(1)"},
		{"PATH HOME USER LOGNAME PWD OLDPWD TMPDIR TMP TEMP XDG_* SYSTEMROOT COMSPEC PATHEXT WINDIR USERPROFILE APPDATA", "is the host's own to set", "environ(7)"},
		{"PORTCULLIS_*", "is for the host alone", "docs/configuration.md"},
	}
}

// harmless are the names that a prefix of the table would catch and that change only what is written down, or carry a
// credential that a program is meant to have.
const harmless = "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE " +
	"GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 " +
	"CGO_ENABLED CARGO_TERM_COLOR CARGO_REGISTRY_TOKEN CARGO_NET_OFFLINE"

// RefusedVariable says why no call, core or secret may set this variable; false when it may. The comparison ignores
// case, as some systems do. Secrets ("secret.bind") are held to the same table, and so is what a core declares.
func RefusedVariable(name string) (why string, refused bool) {
	upper := strings.ToUpper(name)
	if slices.Contains(strings.Fields(harmless), name) {
		return "", false
	}
	for _, v := range variables() {
		for _, n := range strings.Fields(v.names) {
			n = strings.ToUpper(n)
			if prefix, wild := strings.CutSuffix(n, "*"); upper == n || wild && strings.HasPrefix(upper, prefix) {
				return v.why, true
			}
		}
	}
	return "", false
}

// RefusedForSecret says why no secret may stand in this variable: as [RefusedVariable], and because a program is passed it by
// the host, or goes by it to where it connects or how it prints, so that a value would be sent as a name or shown.
func RefusedForSecret(name string) (why string, refused bool) {
	const steering = "TERM LANGUAGE LC_* *_PROXY DOCKER_HOST DOCKER_CONTEXT GNUPGHOME VIMINIT EXINIT DISPLAY COLUMNS LINES"
	if why, refused := RefusedVariable(name); refused {
		return why, true
	}
	upper := strings.ToUpper(name)
	for _, n := range append(Passed(), strings.Fields(steering)...) {
		before, prefix := strings.CutSuffix(n, "*")
		behind, suffix := strings.CutPrefix(n, "*")
		if upper == n || prefix && strings.HasPrefix(upper, before) || suffix && strings.HasSuffix(upper, behind) {
			return "steers where programs connect or how they print", true
		}
	}
	return "", false
}

// Passed are the variables of the host that every program sees when the host has them. All others it does not.
func Passed() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
}
