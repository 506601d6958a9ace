// Package scaffold owns what a new plugin looks like: `portcullis plugin new` writes it.
//
// The result is a Go module of its own with two documented tools, tests, a README and, under vendor/, the sdk that
// this program carries, so that it builds, vets and tests with no network and outside any checkout.
// In another language it is one tool in one file, what sdk/languages has for that language, and a script that builds it.
//
// It refuses a name that no plugin may have and a folder that holds anything already. Files are written into a hidden
// folder beside the target and renamed into place at the end: a crash leaves the target as it was, and at worst that
// hidden folder.
package scaffold
