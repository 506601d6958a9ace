// Package provider is the host's door to language models: one vendor-neutral
// request, one vendor-neutral answer, one vocabulary of failures.
//
// It owns the message types a turn is made of, the limits of each model
// (context window, largest output, tokenizer, safety margin), the caps put on
// what a model may send back, the error taxonomy and the retry rule. The
// adapters live below it, one foreign library each: provider/anthropic,
// provider/openai, and provider/scripted which needs no network at all.
// provider/open picks one from a [Config].
//
// What it refuses: a request whose tool results do not answer the calls before
// them ([Request.Validate]), an answer larger than its [Caps], a redirect (a key
// must not travel to another origin), a key over plain HTTP to another machine,
// a key or address taken from the process environment.
//
// Order of one call: check the request, copy it, ask for the key, send, read
// the stream under the caps while handing events to the caller, check and
// normalise the answer, return it whole. A failure is retried by [Retrying]
// only while the caller has been shown nothing of the answer.
//
// Nothing here is durable. After a crash a request that was in flight is lost
// and its answer unknown; whether to ask again is the turn's decision.
package provider
