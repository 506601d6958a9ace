// Package anthropic speaks Anthropic Messages (streaming) through Anthropic's
// own library. It is the only package that imports it.
//
// It owns the translation in both directions and the classification of the
// vendor's failures. It takes nothing from the environment: neither key nor
// address, profile, extra headers or tracing. The library's retries are off.
//
// What the vendor has no place for: system messages inside the conversation are
// joined to the system prompt; a tool message becomes the start of the user
// message after it, because results must come first there. Thinking blocks are
// kept as opaque parts and sent back only within the tool loop that produced
// them, which is where the vendor requires them; earlier ones are left out, so
// that rewriting older history cannot invalidate them.
//
// Sources: platform.claude.com "Messages", "Streaming Messages", "Errors",
// "Thinking in tool and multi-turn workflows".
package anthropic
