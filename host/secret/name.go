package secret

import (
	"fmt"
	"slices"
	"strings"
)

// Name names one secret: letters, digits and _, no digit first, at most 64 bytes. It is what secret.bind:<NAME>
// grants, and the environment variable that a process gets it in.
type Name string

// NameError says why a text is no name for a secret.
type NameError struct {
	Text string // of one over 64 bytes its length: a part of a value could not be hidden any more
	Want string
}

// Error names the text and what to write instead.
func (e *NameError) Error() string { return fmt.Sprintf("secret: name %q %s", e.Text, e.Want) }

// ParseName reads a name. The error is a [*NameError].
func ParseName(text string) (Name, error) {
	bad := func(want string) (Name, error) {
		if len(text) > 64 {
			return "", &NameError{fmt.Sprintf("a text of %d bytes", len(text)), want}
		}
		return "", &NameError{text, want}
	}
	switch {
	case text == "" || len(text) > 64 || strings.ContainsFunc(text, func(c rune) bool { return !nameRune(c) }) || text[0] >= '0' && text[0] <= '9':
		return bad("must be 1 to 64 letters, digits and _, and begin with no digit")
	case Reserved(text):
		return bad("is reserved, because it changes what a process runs rather than what it knows: choose another, as in MAIL_TOKEN")
	}
	return Name(text), nil
}

func nameRune(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Reserved reports whether a variable of this name would steer the process that gets it: which program a name means,
// what a loader, an interpreter or a build tool loads first, what a shell reads, whom git asks, where traffic goes, or
// this host itself. Case does not matter.
func Reserved(name string) bool {
	name = strings.ToUpper(name)
	for _, family := range []string{"LD_", "DYLD_", "BASH_", "LC_", "PORTCULLIS_", "GIT_CONFIG_", "NPM_CONFIG_", "XDG_", "PYTHON"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return slices.Contains([]string{
		"PATH", "HOME", "SHELL", "ENV", "IFS", "PS4", "PWD", "OLDPWD", "CDPATH", "TMPDIR", "USER", "LOGNAME", "TERM", "LANG",
		"PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "BROWSER", "SSH_ASKPASS", "SSH_AUTH_SOCK", "SUDO_ASKPASS",
		"GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_DIR", "GIT_PAGER", "GIT_EDITOR", "GIT_PROXY_COMMAND",
		"GIT_EXTERNAL_DIFF", "GIT_TEMPLATE_DIR", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "PERL5LIB", "PERL5OPT", "RUBYLIB",
		"RUBYOPT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "MAKEFLAGS", "CC", "CXX", "GOFLAGS", "GOPROXY",
		"GOENV", "RUSTC_WRAPPER", "RUSTFLAGS", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
	}, name)
}
