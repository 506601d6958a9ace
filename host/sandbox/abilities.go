package sandbox

import (
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Abilities is a set of what a plugin can be let do beyond computing. The zero
// value is nothing: input, output, log, progress, clock and randomness need no
// ability.
type Abilities uint8

// The abilities, one for each requirement word of the contract.
const (
	MayReadFiles  Abilities = 1 << iota // fs.read
	MayWriteFiles                       // fs.write
	MayKeepValues                       // kv
	MayFetch                            // net.fetch, to hosts that are checked by the call
	MaySign                             // secret.bind, with secrets that were bound for the call
)

// AbilitiesFrom asks allows for each requirement word: fs.read, fs.write, kv,
// net.fetch, secret.bind. For the last two, allows says whether any host or secret
// is granted.
func AbilitiesFrom(allows func(need string) bool) Abilities {
	var a Abilities
	for _, need := range needWords() {
		if allows(need) {
			a |= abilityOf(need)
		}
	}
	return a
}

// ToolAbilities is what a tool says it needs, whoever may have it.
func ToolAbilities(t wire.Tool) Abilities {
	return AbilitiesFrom(func(need string) bool {
		return slices.ContainsFunc(t.Capabilities, func(have string) bool { return wire.Satisfies(have, need) })
	})
}

// abilityOf is the ability for a requirement word, 0 for none.
func abilityOf(need string) Abilities {
	switch need {
	case wire.CapFSRead:
		return MayReadFiles
	case wire.CapFSWrite:
		return MayWriteFiles
	case wire.CapKV:
		return MayKeepValues
	case wire.CapNetFetch:
		return MayFetch
	case wire.CapSecretBind:
		return MaySign
	}
	return 0
}

// needWords are the requirement words that an ability stands for.
func needWords() []string {
	return []string{wire.CapFSRead, wire.CapFSWrite, wire.CapKV, wire.CapNetFetch, wire.CapSecretBind}
}

// Has reports whether a includes all of b.
func (a Abilities) Has(b Abilities) bool { return a&b == b }

// String lists the requirement words, or "nothing".
func (a Abilities) String() string {
	var words []string
	for _, need := range needWords() {
		if a.Has(abilityOf(need)) {
			words = append(words, need)
		}
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, " ")
}
