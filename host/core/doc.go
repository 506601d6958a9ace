// Package core owns what a person writes to configure Portcullis: Agent Cores (cores/<id>/agent.yaml and the folder
// agent/ beside it) and the home's config.yaml.
//
// Both files are read the same way: at most [MaxYAMLBytes], one document of plain YAML, every key known and given
// once, every value of its type and within its bounds. All faults of a file are reported together, each with path,
// line, column and what to write instead ([LoadErrors]). No option is decoration: what nothing enforces is not a
// key. A secret is never a value of either file, only a reference to one, and no message repeats what stood where a
// reference belongs.
//
// A [Core] is one reading of a whole tree and does not change afterwards: [Load] reads every file once, takes the
// revision of exactly those bytes, and decodes from them. Refused are symbolic links, folders and names outside the
// list of [Load], more files or bytes than the bounds, and a manifest that names another core than its folder.
//
// The package reads files and writes none; [Default] and [DefaultHostConfig] return what `portcullis init` writes.
// Nothing here survives a crash: whoever needs a core again loads it again and compares the revision.
// Source: Host Runtime Contracts ("an Agent Core owns agent.yaml + agent/").
package core
