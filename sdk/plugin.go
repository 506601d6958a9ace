package sdk

import "github.com/b3abf3ee/portcullis/sdk/wire"

// Plugin is what an author states about a plugin. Everything here ends up in
// plugin.json, where a person reads it before granting anything.
type Plugin struct {
	ID      string // ^[a-z][a-z0-9-]{0,39}$
	Version string // semantic version 2.0.0, as in 1.2.3
	Summary string // one sentence
	License string // SPDX expression, as in Apache-2.0
	// Capabilities is all that any tool of the plugin uses, each with a reason.
	Capabilities []Capability
	// Egress lists where the plugin sends requests; needed with net.fetch.
	Egress []Egress
	// Credentials lists where the host puts a secret into requests; the plugin
	// asks for secret.bind:<NAME> and never sees the value.
	Credentials []Credential
	// Signing lists what [Host.Sign] can be asked for.
	Signing []Signing
	// Settings lists the non-secret values that [Host.Setting] reads.
	Settings []Setting
	// Limits is what one call needs at most; zero members mean the host's own.
	Limits Limits
	// Tools is at least one.
	Tools []ToolSpec
}

// The parts of a plugin that the manifest has in the same shape.
type (
	// Capability is a name, as in "fs.read", and the reason for asking.
	Capability = wire.Capability
	// Egress is a host, with port, methods and path prefix when they matter.
	Egress = wire.Egress
	// Credential is a place for a secret in requests to one origin.
	Credential = wire.Credential
	// Signing is a secret as the key of a message authentication code.
	Signing = wire.Signing
	// Setting is a name, a description and a default.
	Setting = wire.Setting
	// Limits bounds one call; see the Hard constants of package wire.
	Limits = wire.Limits
)

// Values of [Risk], [Approval] and [Recovery], and of [Credential] and [Signing].
const (
	RiskLow      = wire.RiskLow
	RiskMedium   = wire.RiskMedium
	RiskHigh     = wire.RiskHigh
	RiskCritical = wire.RiskCritical

	ApprovalAuto   = wire.ApprovalAuto
	ApprovalPrompt = wire.ApprovalPrompt
	ApprovalDeny   = wire.ApprovalDeny

	RecoveryRead       = wire.RecoveryRead
	RecoveryIdempotent = wire.RecoveryIdempotent
	RecoveryManual     = wire.RecoveryManual

	InHeader = wire.InHeader
	InQuery  = wire.InQuery
	InBasic  = wire.InBasic
	InPath   = wire.InPath
	InBody   = wire.InBody

	HMACSHA256 = wire.HMACSHA256
	HMACSHA512 = wire.HMACSHA512

	KeyText   = wire.KeyText
	KeyBase64 = wire.KeyBase64
	KeyHex    = wire.KeyHex
)
