package wire

// Description is the output of [ExportDescribe]: everything of a manifest that
// the author wrote. Digest, exports and imports are read from the binary and
// are not the author's to state.
type Description struct {
	ABI          string       `json:"abi"`  // [ABI]
	Kind         string       `json:"kind"` // [KindTool]
	ID           string       `json:"id"`
	Version      string       `json:"version"` // semantic version 2.0.0
	Summary      string       `json:"summary"`
	License      string       `json:"license"` // SPDX expression
	Capabilities []Capability `json:"capabilities,omitempty"`
	Egress       []Egress     `json:"egress,omitempty"`
	Credentials  []Credential `json:"credentials,omitempty"`
	Signing      []Signing    `json:"signing,omitempty"`
	Settings     []Setting    `json:"settings,omitempty"`
	Limits       Limits       `json:"limits"`
	Tools        []Tool       `json:"tools"`
}

// Capability is one thing the plugin asks for and the reason a person reads
// before granting it.
type Capability struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Egress is one place the plugin wants to reach. It narrows net.fetch; it
// grants nothing.
type Egress struct {
	// Host is a name, "*.name" for everything below it, or "*" when only the
	// caller knows; a grant still decides.
	Host string `json:"host"`
	// Port is 1 to 65535; 0 means the scheme's own.
	Port int `json:"port,omitempty"`
	// Methods in capitals; none means GET and HEAD.
	Methods []string `json:"methods,omitempty"`
	// PathPrefix begins with a slash; empty means every path.
	PathPrefix string `json:"path_prefix,omitempty"`
	Reason     string `json:"reason"`
}

// Setting is a non-secret value that the operator may set for the plugin.
type Setting struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Default     string `json:"default,omitempty"`
}

// Limits are what one call needs at most. Zero means the host's default; the
// host may grant less, never more than the Hard bounds of this package.
type Limits struct {
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	DeadlineMS  int64 `json:"deadline_ms,omitempty"`
	InputBytes  int64 `json:"input_bytes,omitempty"`
	OutputBytes int64 `json:"output_bytes,omitempty"`
	HostCalls   int64 `json:"host_calls,omitempty"` // all host functions together, load and store excepted
	HTTPCalls   int64 `json:"http_calls,omitempty"` // requests, redirects not counted
	HTTPBytes   int64 `json:"http_bytes,omitempty"` // response bodies together
	FileBytes   int64 `json:"file_bytes,omitempty"` // read and written together
	LogLines    int64 `json:"log_lines,omitempty"`  // log and emit together
}

// Hard bounds of [Limits]: no manifest may ask for more.
const (
	HardMemoryBytes = 512 << 20
	HardDeadlineMS  = 10 * 60 * 1000
	HardInputBytes  = MaxCallBytes
	HardOutputBytes = MaxReplyBytes
	HardHostCalls   = 100_000
	HardHTTPCalls   = 1000
	HardHTTPBytes   = 256 << 20
	HardFileBytes   = 256 << 20
	HardLogLines    = 10_000
)

// Tool is one tool as the model and the policy see it.
type Tool struct {
	Name         string  `json:"name"`
	Description  string  `json:"description"`
	InputSchema  RawJSON `json:"input_schema"`  // JSON Schema 2020-12, an object
	OutputSchema RawJSON `json:"output_schema"` // the same
	// Capabilities is what this tool uses, out of the plugin's.
	Capabilities []string `json:"capabilities,omitempty"`
	Risk         string   `json:"risk"`     // see [Risks]
	Approval     string   `json:"approval"` // see [Approvals]
	Recovery     string   `json:"recovery"` // see [Recoveries]
}

// Words of [Tool]. Risk says how bad a wrong call is.
const (
	RiskLow      = "low"
	RiskMedium   = "medium"
	RiskHigh     = "high"
	RiskCritical = "critical"
)

// Approval is the author's advice; policy may be stricter.
const (
	ApprovalAuto   = "auto"
	ApprovalPrompt = "prompt"
	ApprovalDeny   = "deny"
)

// Recovery says what may settle a call that started and has no known end.
const (
	RecoveryRead       = "read"       // changes nothing: may be repeated
	RecoveryIdempotent = "idempotent" // repeating with the same id changes nothing more
	RecoveryReconcile  = "reconcile"  // [ExportReconcile] can tell, by looking alone
	RecoveryManual     = "manual"     // a person must look
)

// Risks, Approvals and Recoveries list the words in order of severity.
func Risks() []string { return []string{RiskLow, RiskMedium, RiskHigh, RiskCritical} }

// Approvals lists the words of [Tool.Approval].
func Approvals() []string { return []string{ApprovalAuto, ApprovalPrompt, ApprovalDeny} }

// Recoveries lists the words of [Tool.Recovery].
func Recoveries() []string {
	return []string{RecoveryRead, RecoveryIdempotent, RecoveryReconcile, RecoveryManual}
}
