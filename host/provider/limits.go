package provider

import "strings"

// Tokenizer names the way to count tokens before a request is sent.
type Tokenizer string

// The tokenizers. The first two are tiktoken encodings; TokenizerEstimate means
// that no public tokenizer matches and text must be estimated by size.
const (
	TokenizerO200k    Tokenizer = "o200k_base"
	TokenizerCL100k   Tokenizer = "cl100k_base"
	TokenizerEstimate Tokenizer = "estimate"
)

// Limits are the normalised limits of a model, in tokens. Whoever budgets a
// prompt keeps prompt + output + SafetyMargin within ContextWindow.
type Limits struct {
	ContextWindow int
	MaxOutput     int
	Tokenizer     Tokenizer
	// SafetyMargin covers what counting cannot see: a fiftieth of the window with
	// a real tokenizer (message framing, tool schemas), a tenth with an estimate.
	SafetyMargin int
	// Assumed says that the window is what is assumed of a model of which nothing is known.
	Assumed bool
}

// What is assumed of a model nobody has described: the smallest window still in
// use. Too small costs an early summary; too large would make servers that cut
// the prompt silently lose the start of the conversation.
const (
	unknownWindow = 8_192
	unknownOutput = 2_048
)

// known is one row of the table: all models whose id begins with prefix.
type known struct {
	prefix    string
	window    int
	output    int
	tokenizer Tokenizer
}

// knownModels returns the table. Where a vendor publishes several numbers for a
// model (betas, account tiers, a separate input limit), the smallest counts.
// Sources: platform.claude.com "Models overview" and its model pages;
// developers.openai.com model pages.
func knownModels() []known {
	return []known{
		{"claude-fable-5", 1_000_000, 128_000, TokenizerEstimate},
		{"claude-mythos-5", 1_000_000, 128_000, TokenizerEstimate},
		{"claude-opus-5", 1_000_000, 128_000, TokenizerEstimate},
		{"claude-sonnet-5", 1_000_000, 128_000, TokenizerEstimate},
		{"claude-haiku-5-5", 1_000_000, 128_000, TokenizerEstimate},
		{"claude-opus-4-8", 1_000_000, 128_000, TokenizerEstimate},
		{"claude-opus-4-7", 1_000_000, 128_000, TokenizerEstimate},
		{"claude-opus-4-6", 200_000, 128_000, TokenizerEstimate},
		{"claude-opus-4-5", 200_000, 64_000, TokenizerEstimate},
		{"claude-opus-4", 200_000, 32_000, TokenizerEstimate},
		{"claude-sonnet-4", 200_000, 64_000, TokenizerEstimate},
		{"claude-haiku-4-5", 200_000, 64_000, TokenizerEstimate},
		{"claude-3-7", 200_000, 64_000, TokenizerEstimate},
		{"claude-3-5", 200_000, 8_192, TokenizerEstimate},
		{"claude", 200_000, 4_096, TokenizerEstimate},

		// OpenAI's newer models take about a million tokens in all; 272,000 is the
		// input limit they share with the first of their family.
		{"gpt-6", 272_000, 128_000, TokenizerO200k},
		{"gpt-5", 272_000, 128_000, TokenizerO200k},
		// The models that ChatGPT itself uses have a smaller window.
		{"gpt-5-chat", 128_000, 16_384, TokenizerO200k},
		{"gpt-5.1-chat", 128_000, 16_384, TokenizerO200k},
		{"gpt-5.2-chat", 128_000, 16_384, TokenizerO200k},
		{"gpt-5.3-chat", 128_000, 16_384, TokenizerO200k},
		{"gpt-4.1", 1_047_576, 32_768, TokenizerO200k},
		{"gpt-4o", 128_000, 16_384, TokenizerO200k},
		{"gpt-4o-2024-05-13", 128_000, 4_096, TokenizerO200k},
		{"gpt-4-turbo", 128_000, 4_096, TokenizerCL100k},
		{"gpt-4", 8_192, 4_096, TokenizerCL100k},
		{"gpt-3.5-turbo", 16_385, 4_096, TokenizerCL100k},
		{"o1", 200_000, 100_000, TokenizerO200k},
		{"o1-mini", 128_000, 65_536, TokenizerO200k},
		{"o1-preview", 128_000, 32_768, TokenizerO200k},
		{"o3", 200_000, 100_000, TokenizerO200k},
		{"o4-mini", 200_000, 100_000, TokenizerO200k},
	}
}

// LimitsFor looks a model up by the longest matching prefix of its id, a
// routing prefix such as "anthropic/" set aside. A window or output above zero
// overrides the table.
func LimitsFor(model string, window, output int) Limits {
	id := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	row := known{window: unknownWindow, output: unknownOutput, tokenizer: TokenizerEstimate}
	for _, k := range knownModels() {
		if strings.HasPrefix(id, k.prefix) && len(k.prefix) > len(row.prefix) {
			row = k
		}
	}
	if window > 0 {
		row.window = window
	}
	if output > 0 {
		row.output = output
	}
	// An output limit taken from the table must leave an overridden window room
	// for a prompt.
	if output <= 0 && row.output > row.window/2 {
		row.output = row.window / 2
	}
	margin := row.window / 50
	if row.tokenizer == TokenizerEstimate {
		margin = row.window / 10
	}
	return Limits{
		ContextWindow: row.window, MaxOutput: row.output, Tokenizer: row.tokenizer, SafetyMargin: margin,
		Assumed: row.prefix == "" && window <= 0,
	}
}
