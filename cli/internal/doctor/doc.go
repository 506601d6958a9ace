// Package doctor owns the checks of a home: what can be wrong with it, a stable code for each, and what to type to
// mend it.
//
// It looks and never touches: after a checkup no byte and no time in the home has changed, locks included. Database
// and host are looked at through a copy that is removed again. Checks go from the outside in (the folder, its files,
// its cores, its plugins, its database, the machine), and one that fails does not keep the others from being made
// unless they need what is missing.
//
// Nothing here survives the checkup but its findings.
package doctor
