// Package secret keeps the operator's secrets and gives one out to whoever the gate let have it.
//
// It owns secrets.age in the home: names, and for each a value or the place where the value is (an environment
// variable, a file). The file is encrypted with age (https://age-encryption.org/v1) to one identity, which lies in
// secrets.key with mode 0600. Whoever can read both files has the secrets: encryption is for backups, synchronised
// folders and a glance over the shoulder, not against the operator's own account.
//
// Refused: names that steer a process rather than inform it ([Reserved]), values that could not be redacted
// afterwards (policy/redact says which), files that others can read, links, files larger than [MaxFile], and content
// with members this package did not write. An expired secret is not given out.
//
// A change reads the file, changes one entry and replaces the file by rename under a lock, so that neither a crash nor
// a second process loses an entry: after a crash the file is the old or the new one. A value is behind a function, as
// in policy/redact, and nothing here prints, logs or wraps it.
package secret
