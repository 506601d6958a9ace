// Package bundle owns the plugins that come with Portcullis: where they are, and how they become folders that can be
// installed from.
//
// A binary built with the tag bundled carries them and writes them out. Any other one builds them from a checkout of
// the repository: the one that was named, else the one around the working directory, else the one around the program.
// Built plugins stay in the checkout under .build/guests and are built again only when their sources change.
//
// It refuses to go on without either, with what to type. It installs and grants nothing. A crash leaves finished
// builds, which are kept, and parts of others, which are built anew.
package bundle
