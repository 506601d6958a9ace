package sdk

import "github.com/b3abf3ee/portcullis/sdk/wire"

// Sizes that no call passes, whatever the manifest says, for handlers that want
// to refuse with better words than the host would. In bytes unless said.
const (
	MaxPath     = wire.MaxPath      // a name in [Files]
	MaxFile     = wire.MaxBodyBytes // one [Files.WriteFile]
	MaxURL      = wire.MaxURL       // [Request.URL]
	MaxBody     = wire.MaxBodyBytes // [Request.Body] and [Response.Body]
	MaxKey      = wire.MaxKVKey     // a key of [KV]
	MaxValue    = wire.MaxKVValue   // a value of [KV]
	MaxKeys     = wire.MaxKVKeys    // keys of [KV], count
	MaxValues   = wire.MaxKVTotal   // all values of [KV] together
	MaxToolName = wire.MaxToolName
	MaxResult   = wire.MaxReplyBytes // a result with what surrounds it
)
