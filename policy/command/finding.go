package command

// Kind is what a finding is about.
type Kind string

// The kinds, the gravest first.
const (
	// Code is a word that makes the program run other code: git -c, tar --to-command, sh -c. A core refuses it unless it
	// says otherwise.
	Code Kind = "code"
	// Wrapper is a program whose business is to run others: env, timeout, sudo, xargs.
	Wrapper Kind = "wrapper"
	// Interpreter is a program that runs the text it is given: sh, python, awk.
	Interpreter Kind = "interpreter"
	// Project is a program that runs what files of the project say: make, npm, go.
	Project Kind = "project"
	// Network is a program that speaks to other machines by itself, where no egress rule is asked.
	Network Kind = "network"
)

// Finding is one thing that a person should know before they allow a command line. Any finding means that the
// allowance is for one run only.
type Finding struct {
	Kind    Kind
	Program string // as the table knows it: "git"
	Word    string // the word that matched; of one over 80 bytes what it was matched by; the program itself for a whole program
	Why     string // one sentence part: "runs the command it names"
	Source  string // where the row comes from
}

// String is the finding in one line.
func (f Finding) String() string {
	if f.Word == f.Program {
		return f.Program + " " + f.Why
	}
	return f.Program + " " + f.Word + " " + f.Why
}

// Line is one command line as it would run.
type Line struct {
	Names []string // the program as it was asked for and as it resolved; paths or bare names
	Words []string // argv without the program
	Stdin bool     // whether it is given standard input
}

// word is w where it is short enough for a sentence, else what it was matched by: a secret that was cut through would not be
// found by whoever hides what is secret in the sentence.
func word(w, by string) string {
	const limit = 80
	if len(w) <= limit {
		return w
	}
	return by + "…"
}
