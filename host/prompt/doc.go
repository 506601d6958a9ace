// Package prompt owns what a model is shown (the contract's ContextManager): it fits a conversation into the model's
// window, or says that it does not fit, before anything is sent.
//
// A turn opens a [Conversation] once, which reads the session's bounded window: its summary, if there is one, and the
// newest messages after it; of a session that had a turn lately it reads only what came since. Each step is then one [Conversation.Prepare]: choose the output reservation from the model's
// limits; take it, the safety margin and the tool schemas from the window; put the layers together in their fixed order
// (system prompt, summary, a note on what earlier turns left uncertain, history, this turn); shorten old tool results; and, if that is not enough, summarise the older
// part of the history under the session's compaction lease; a history that nears the bounds of what is read is summarised by
// half even where it fits. When nobody can summarise now, or one turn alone says more than is read, the oldest groups are left
// out instead, which the model is told. What cannot fit even so is an overflow with its sizes, and nothing is sent.
//
// Never cut apart or left out: the system prompt, the note, the input of this turn, an assistant message with the results of its
// calls, the newest groups. A summary says that it is one and gives no orders; each line of it stands behind a
// mark, so that none reads as the host's word.
//
// Sizes are counted with the model's tokenizer where there is a public one, else estimated on the safe side, and corrected by what the
// model reported before ([Conversation.Observe]); a model that has reported nothing yet is trusted with nothing. The cost
// depends on the window, not on how long the transcript is.
//
// Durable: summaries with their cutoff, in one transaction; the compaction lease and its pause after a failure;
// observations with the calibration they make. A cancelled or crashed Prepare leaves no half of a summary, and its lease
// runs out, or ends when the next host recovers turns.
// Source: Host Runtime Contracts, ContextManager.
package prompt
