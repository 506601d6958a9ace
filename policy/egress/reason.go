package egress

// Reason is the stable code of a verdict. Codes never change once released.
type Reason string

// The reasons. The parser gives the first group, the rules the second, the addresses the third.
const (
	Allowed Reason = "allowed"

	InvalidURL        Reason = "invalid_url"
	UnsupportedScheme Reason = "unsupported_scheme"
	MissingHostname   Reason = "missing_hostname"
	Userinfo          Reason = "userinfo"
	InvalidHostname   Reason = "invalid_hostname"
	InvalidPort       Reason = "invalid_port"
	NonCanonicalPath  Reason = "non_canonical_path"

	MetadataHostname Reason = "metadata_hostname"
	PrivateHostname  Reason = "private_hostname"
	HostNotAllowed   Reason = "host_not_allowed"
	PortNotAllowed   Reason = "port_not_allowed"
	MethodNotAllowed Reason = "method_not_allowed"
	PathNotAllowed   Reason = "path_not_allowed"

	DNSFailure         Reason = "dns_failure"
	DNSNoAddresses     Reason = "dns_no_addresses"
	DNSInvalidAddress  Reason = "dns_invalid_address"
	MetadataAddress    Reason = "metadata_address"
	PrivateAddress     Reason = "private_address"
	NonRoutableAddress Reason = "non_routable_address"
)

// Verdict is one answer. The zero Verdict is a refusal. Sentence is for people; it names host, port and method but
// never path, query or userinfo, which may hold a credential. It may reach whoever asked, a plugin or a model; what only
// the operator can do about a refusal is in Remedy.
type Verdict struct {
	Allowed  bool
	Reason   Reason
	Rule     string // the rule that allowed, or that came nearest; empty when none is for the host
	Sentence string
	Remedy   string // what the operator would type or edit; shown to nobody else; may be empty
}

func refuse(r Reason, sentence string) Verdict { return Verdict{Reason: r, Sentence: sentence} }

func allow() Verdict { return Verdict{Allowed: true, Reason: Allowed} }
