// Package failpoint owns the named places where a test makes the host die, fail or wait.
//
// In every ordinary build [Hit] does nothing and is inlined away. Built with `-tags failpoint`, one point can be armed from
// the environment: PORTCULLIS_FAILPOINT is `<name>=<mode>` with the mode kill (the process dies as by SIGKILL), error (Hit
// returns [ErrInjected]) or delay (Hit waits 20 ms); `<name>=<mode>@<n>` means the nth time it is reached. Each point that
// is reached is written to the file that PORTCULLIS_FAILPOINT_HITS names, a line with its name each time. Anything else
// in the variable ends the process: a point that is armed by a mistyped name would prove nothing.
//
// Names are literals at the call, each used once, or begin with what [Caller] gives, so that a test can list them from
// the source. Nothing here survives a
// crash, which is the point.
package failpoint

import "errors"

// ErrInjected is what [Hit] returns at a point that is armed to fail.
var ErrInjected = errors.New("failpoint: injected")
