// Package redacttest holds the ways in which a secret comes back, for tests of what must hide them: the encoders of common
// runners, shells and formats, and the look for what is left of one.
//
// It uses nothing of policy/redact: what finds must not decide what there is to find. It has no state, and is for tests.
package redacttest
