package plugin

import (
	"fmt"
	"strings"
)

// MissingError says that a plugin, or that version of it, is not installed.
type MissingError struct {
	ID, Version string   // Version is empty when any would have done
	Have        []string // the versions that are installed, oldest first
}

// Error says what is there instead and what to type.
func (e *MissingError) Error() string {
	name := strings.TrimSpace(e.ID + " " + e.Version)
	if len(e.Have) > 0 {
		return fmt.Sprintf("plugin %s is not installed (installed: %s): run `portcullis plugin install DIR`, or pick one of `portcullis plugin list`",
			name, strings.Join(e.Have, ", "))
	}
	return fmt.Sprintf("plugin %s is not installed: run `portcullis plugin install DIR` (`portcullis plugin list` shows what is)", name)
}

// DigestError says that an installed version is not the one that a core pinned.
type DigestError struct {
	ID, Version string
	Want, Have  string // "sha256:<hex>" of plugin.json
}

// Error names both digests and the two ways out.
func (e *DigestError) Error() string {
	return fmt.Sprintf("plugin %s %s is installed with digest %s, but %s is pinned: install the pinned one (`portcullis plugin remove %s@%s`, "+
		"then `portcullis plugin install DIR`), or pin what `portcullis plugin list` shows", e.ID, e.Version, e.Have, e.Want, e.ID, e.Version)
}

// ConflictError says that the version is installed already with another content. Versions never change: a core that
// pins one must find the same tomorrow.
type ConflictError struct {
	ID, Version      string
	Installed, Given string // digests
}

// Error names both digests and the two ways out.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("plugin %s %s is installed already with another content (installed %s, given %s): raise the version in the plugin, "+
		"or put it in the place of that one: `portcullis plugin install --replace DIR`", e.ID, e.Version, e.Installed, e.Given)
}

// Reason is the stable code of what is wrong with an installed folder.
type Reason string

// The reasons of [BrokenError].
const (
	NotAPlugin      Reason = "not_a_plugin"     // a name that no plugin or version has
	NotAFolder      Reason = "not_a_folder"     // a file, or a link, where a folder belongs
	ManifestMissing Reason = "manifest_missing" // no plugin.json, or it is not a plain file
	ManifestInvalid Reason = "manifest_invalid" // plugin.json is there and is refused
	WrongPlace      Reason = "wrong_place"      // plugin.json is of another id or version
	WasmMissing     Reason = "wasm_missing"     // no plugin.wasm, or it is not a plain file
	WasmChanged     Reason = "wasm_changed"     // plugin.wasm has another size or digest than its manifest states
	StrayFile       Reason = "stray_file"       // something else is in the folder
	Unfinished      Reason = "unfinished"       // what an interrupted install or removal left
)

// BrokenError says that something below plugins/ is not an installed plugin. It is never skipped silently: what was
// trusted yesterday and is broken today is a thing to look at.
type BrokenError struct {
	ID, Version string // names of the folders, whatever they are; Version may be empty
	Reason      Reason
	Detail      string
}

// Error says what is wrong and how to get rid of it.
func (e *BrokenError) Error() string {
	remedy := fmt.Sprintf("remove it and install it again: `portcullis plugin remove %s@%s`, then `portcullis plugin install DIR`", e.ID, e.Version)
	switch e.Reason {
	case NotAPlugin, NotAFolder:
		remedy = "move it away"
	case Unfinished:
		remedy = "it is removed by the next `portcullis plugin install DIR` after an hour"
	}
	where := FolderName + "/" + e.ID
	if e.Version != "" {
		where += "/" + e.Version
	}
	return fmt.Sprintf("%s is not an installed plugin (%s): %s; %s", where, e.Reason, e.Detail, remedy)
}

// SourceError says why something cannot be installed from.
type SourceError struct {
	Path   string // as it was given
	Code   string // stable: not_found, not_a_folder, manifest_missing, manifest_invalid, wasm_missing, wasm_changed
	Detail string // a sentence that begins with a verb and ends with what to do
}

// Error is the path and the sentence.
func (e *SourceError) Error() string { return e.Path + ": " + e.Detail }
