package prompt

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// What the shape of a request costs besides its texts, in tokens. Vendors publish about 3 for a message and 8 to 12 for
// a tool; these are above.
const (
	perMessage = 8
	perTool    = 24
)

// unknownPercent is what is added to the count of a near tokenizer when the model's own is not public. Texts of scripts
// outside ASCII differ most between vocabularies, and for those the count is taken by bytes; see [counter.count].
const unknownPercent = 35

// wholeText is how long a text may be to be counted at once: the encoder is slower than linear on long words.
const wholeText = 4 << 10

// counter estimates how many tokens texts are. No estimate is above the number of bytes, which is what a byte-level
// vocabulary needs at the most. It is safe for concurrent use.
type counter struct {
	kind provider.Tokenizer
	load func() tokenizer.Codec

	mu   sync.Mutex // guards seen
	seen map[string]int
}

// maxSeen bounds how many texts the counts of which are remembered; the window of a conversation has fewer.
const maxSeen = 2048

func newCounter(kind provider.Tokenizer) *counter {
	return &counter{kind: kind, seen: map[string]int{}, load: sync.OnceValue(func() tokenizer.Codec {
		encoding := tokenizer.O200kBase
		if kind == provider.TokenizerCL100k {
			encoding = tokenizer.Cl100kBase
		}
		codec, err := tokenizer.Get(encoding)
		if err != nil {
			return nil // an encoding that the library does not have: bytes count
		}
		return codec
	})}
}

// count is the estimate for a text.
func (c *counter) count(text string) int {
	if len(text) <= 16 {
		return len(text)
	}
	c.mu.Lock()
	n, ok := c.seen[text]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = c.encode(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= maxSeen {
		clear(c.seen)
	}
	c.seen[text] = n
	return n
}

func (c *counter) encode(text string) int {
	codec := c.load()
	if codec == nil || c.kind != provider.TokenizerO200k && c.kind != provider.TokenizerCL100k && !mostlyASCII(text) {
		return len(text)
	}
	n := 0
	for rest := text; len(rest) > 0; {
		piece := head(rest, wholeText)
		k, err := codec.Count(piece)
		if err != nil || k > len(piece) {
			k = len(piece)
		}
		n, rest = n+k, rest[len(piece):]
	}
	if c.kind != provider.TokenizerO200k && c.kind != provider.TokenizerCL100k {
		n += apart(text)
		n += n*unknownPercent/100 + 1
	}
	return min(n, len(text))
}

// apart is what a vocabulary needs more for a text than the near one that has no tokens for several digits, line ends or
// tabs at once, and for no more than eight spaces, as those of several vendors have none.
func apart(text string) int {
	digits, n := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits++ // the near one takes three at a time
		case c == '\n', c == '\t', c == ' ' && i%8 == 0: // a place in eight: each long run has some
			n++
		}
	}
	return n + (2*digits+2)/3
}

func mostlyASCII(text string) bool {
	other := 0
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			other++
		}
	}
	return other*10 <= len(text)
}

// message is the estimate for a whole message.
func (c *counter) message(m provider.Message) int {
	n := perMessage
	for _, p := range m.Parts {
		switch p.Kind {
		case provider.PartText:
			n += c.count(p.Text)
		case provider.PartToolCall:
			n += perMessage + c.count(p.Call.Name) + c.count(string(p.Call.Arguments)) + c.count(p.Call.Malformed) + len(p.Call.ID)/2
		case provider.PartToolResult:
			n += perMessage + c.count(p.Result.Content) + len(p.Result.CallID)/2
		case provider.PartOpaque:
			n += (len(p.Opaque.Data) + 1) / 2 // a vendor's own form: base64 of what it bills
		}
	}
	return n
}

// ToolTokens estimates what the definitions of a core's tools take of every request of a model with that tokenizer.
func ToolTokens(kind provider.Tokenizer, defs []provider.ToolDefinition) int {
	return newCounter(kind).tools(defs)
}

// tools is the estimate for the definitions.
func (c *counter) tools(defs []provider.ToolDefinition) int {
	n := 0
	for _, t := range defs {
		n += perTool + c.count(t.WireName) + c.count(t.Description) + c.count(string(t.InputSchema))
	}
	return n
}

// head is at most n bytes of s, cut on a rune border.
func head(s string, n int) string {
	for n > 0 && n < len(s) && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:min(n, len(s))]
}
