// Package prompt owns what a model is shown (the contract's ContextManager): it fits a conversation into the model's
// window, or says that it does not fit, before anything is sent.
//
// In order: choose the output reservation from the model's limits, take it and the safety margin and the tool
// schemas from the window, shorten old tool results, drop the oldest causal groups, and answer ready or overflow.
// The system prompt, the current turn and whole groups (an assistant message with the results of its calls) are
// never cut apart. Sizes are estimated from bytes, on the safe side. It works from the bounded window it is handed,
// so its cost does not depend on how long the transcript is. It keeps nothing: a crash loses nothing here.
// Source: Host Runtime Contracts, ContextManager.
package prompt
