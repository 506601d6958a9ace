package command

import (
	"path"
	"slices"
	"strings"
)

// maxFindings bounds an answer: what has more has enough.
const maxFindings = 32

// maxInner is how many of the words behind a wrapper are judged as programs.
const maxInner = 32

// Judge returns what is known of a command line, in the order of its words; none is no proof of harmlessness. It is
// total and depends on nothing but the line.
func Judge(l Line) []Finding {
	j := &judging{line: l}
	names := programs(l.Names)
	j.program(names, l.Words)
	if !j.runsOthers {
		return j.found
	}
	// Which of the words behind a wrapper is the program cannot be known without being the wrapper: all are tried.
	tried := 0
	for i, w := range l.Words {
		if inner := programs([]string{w}); known(inner) {
			if tried++; tried > maxInner {
				j.add(Finding{Code, names[0], word(w, names[0]), "is followed by more programs than can be judged", "this package"})
				break
			}
			j.program(inner, l.Words[i+1:])
		}
		if name, _, sets := strings.Cut(w, "="); sets && ValidVariable(name) {
			if why, refused := RefusedVariable(name); refused {
				j.add(Finding{Code, names[0], word(w, name+"="), "sets a variable that " + why, "variables"})
			}
		}
	}
	return j.found
}

type judging struct {
	line       Line
	found      []Finding
	runsOthers bool
}

func (j *judging) add(f Finding) {
	if len(j.found) < maxFindings && !slices.Contains(j.found, f) {
		j.found = append(j.found, f)
	}
}

// program holds the words of one program against every row that is for it.
func (j *judging) program(names, words []string) {
	for _, r := range rules() {
		name, ok := r.names(names)
		if !ok {
			continue
		}
		j.runsOthers = j.runsOthers || r.kind == Wrapper
		if r.flags == "" && r.begins == "" && r.sub == "" && !r.stdin {
			j.add(Finding{r.kind, name, name, r.why, r.source})
			continue
		}
		if w, by, ok := r.match(words, j.line.Stdin); ok {
			j.add(Finding{r.kind, name, word(w, by), r.why, r.source})
		}
	}
}

// names reports whether the row is for one of the names, and for which.
func (r rule) names(names []string) (string, bool) {
	for _, want := range strings.Fields(r.programs) {
		for _, n := range names {
			if prefix, wild := strings.CutSuffix(want, "*"); n == want || wild && strings.HasPrefix(n, prefix) {
				return n, true
			}
		}
	}
	return "", false
}

// match finds the first word that the row is about, and what of the row it is matched by.
func (r rule) match(words []string, stdin bool) (w, by string, ok bool) {
	if r.stdin && stdin {
		return "(standard input)", "", true
	}
	if r.global {
		words = r.before(words)
	}
	if r.sub != "" {
		at := slices.IndexFunc(words, func(w string) bool { return slices.Contains(strings.Fields(r.sub), w) })
		if at < 0 {
			return "", "", false
		}
		if r.flags == "" && r.begins == "" {
			return words[at], words[at], true
		}
	}
	for i, w := range words {
		for _, f := range strings.Fields(r.flags) {
			if flagged(w, f) || r.bundle && i == 0 && !strings.HasPrefix(w, "-") && len(f) == 2 && strings.Contains(w, f[1:]) {
				return w, f, true
			}
		}
		for _, b := range strings.Fields(r.begins) {
			if strings.HasPrefix(w, b) {
				return w, b, true
			}
		}
	}
	return "", "", false
}

// before is the words in front of the sub-command. The options of r.values take the word behind them along.
func (r rule) before(words []string) []string {
	for i := 0; i < len(words); i++ {
		switch {
		case !strings.HasPrefix(words[i], "-"):
			return words[:i]
		case slices.Contains(strings.Fields(r.values), words[i]):
			i++
		}
	}
	return words
}

// flagged reports whether w is the option f: a long one also abbreviated or with a value behind =, a short one anywhere
// in a cluster or with its value attached, and a single-dash word exactly or with a value behind =.
func flagged(w, f string) bool {
	name, _, _ := strings.Cut(w, "=")
	switch {
	case strings.HasPrefix(f, "--"):
		return len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(f, name)
	case len(f) == 2 && f[0] == '-':
		return len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w[1:], f[1:])
	}
	return name == f
}

// programs are the names in the table's spelling: without folder, case, .exe and version.
func programs(names []string) []string {
	var out []string
	for _, n := range names {
		n = strings.ToLower(path.Base(strings.ReplaceAll(n, `\`, "/")))
		n = strings.TrimSuffix(n, ".exe")
		for _, spelled := range []string{n, strings.TrimRight(n, "0123456789.-")} {
			if spelled != "" && !slices.Contains(out, spelled) {
				out = append(out, spelled)
			}
		}
	}
	if len(out) == 0 {
		out = []string{"program"}
	}
	return out
}

func known(names []string) bool {
	return slices.ContainsFunc(rules(), func(r rule) bool { _, ok := r.names(names); return ok })
}
