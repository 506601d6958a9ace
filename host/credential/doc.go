// Package credential gives secrets to calls: which of them one call gets, and what is signed with one of them for a
// guest that sees only the signature.
//
// It owns the answer to "may this call have that secret". Each is asked for by its exact name, and the name must stand
// in the core's capabilities and, for a plugin, in the operator's grants; no pattern reaches a secret. Values are read
// anew for each call, so that one that was changed, removed or has expired counts from the next call on.
//
// Refused: names that steer a process, more than [MaxSecrets] for one call, what is not granted, missing, expired or
// unreadable, and values that could not be hidden again wherever they turn up. A signature is made only with the
// algorithm, the key and for the tool that the manifest declares, never with a key that could be guessed from it.
//
// All names are looked at before any value is read, all values before one is given out, and the audit record is written
// before the call gets them: a binding that cannot be recorded is none. Nothing here survives a crash; values are in no
// record, error or log.
package credential
