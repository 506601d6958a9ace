// Package openai speaks OpenAI Chat Completions (streaming) through
// sashabaranov/go-openai: OpenAI itself and the many servers that copy its
// interface. It is the only package that imports the library.
//
// It owns the translation in both directions, the classification of failures,
// and the repair of what compatible servers leave out: missing call ids are made
// up (the same answer gives the same ids), missing call indexes are inferred, a
// missing usage is reported as unknown, a finish reason that contradicts the
// tool calls is corrected.
//
// An answer is complete when a finish reason or the [DONE] mark has been seen;
// a stream that ends before either is cut, never taken for a short answer.
//
// Source: developers.openai.com "Chat Completions", "Streaming", "Error codes".
package openai
