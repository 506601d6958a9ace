// Package plugin owns the installed plugins of a home: plugins/<id>/<version>/{plugin.json,plugin.wasm}.
//
// A [Folder] installs, lists, finds, opens and removes. What it hands out was verified in that very call: the
// manifest by sdk/manifest, the binary by the size and digest that the manifest states, and both together by the
// plugin's own digest, which is the SHA-256 of plugin.json's bytes (`sha256sum plugin.json`). As the manifest pins
// the binary, that one digest pins everything a plugin is: code, capabilities, risks, limits. A core pins it.
//
// Refused, in this order: a source that is not a plain folder with a plain plugin.json, a manifest over its size or
// not valid, a binary that is missing, a link, of another size or of another digest, and a version that is installed
// already with another content. Symbolic links are followed nowhere below plugins/.
//
// Installing is all or nothing: files are written into a hidden folder beside the others, synced, and renamed into
// place. A crash leaves either the installed version or a hidden leftover, which [Folder.List] shows as unfinished
// and a later install sweeps away. Removing renames first and deletes after, so that no half of a plugin is ever
// seen. Replacing writes the new version beside the old one and has the two change places in one step, so that a crash leaves
// one of them installed; where the system cannot do that it takes two moves, and a crash between them leaves neither. Folders have mode 0700 and files 0600, whatever the umask.
//
// Nothing here runs or grants anything; the caller writes the audit record.
package plugin
