// Package net owns every outbound connection of the host: one URL and address policy, whoever asks.
//
// A [Gate] has two kinds of users. [Gate.Plugin] gives one plugin call its HTTP, under the plugin's manifest, the
// operator's grants, the core's capabilities and the core's egress rules together; what a plugin speaks over it, a sign-in or
// a callback among it, makes no difference. [Gate.ProviderClient] gives a model provider an [http.Client] that reaches the
// origin of its base URL and nothing else. The host itself makes no other request. Both go the same way:
//
//	parse the URL strictly           policy/egress
//	ask the rules and the grants     policy/egress, policy/capability
//	resolve the name, once           pure Go, as an absolute name, without search domains
//	classify every answer            one bad answer refuses the name
//	write the audit record           a decision that cannot be recorded is a refusal
//	connect to a judged address      and judge it again on the socket, just before it connects
//	read the answer within bounds    headers, body, and body after decompression
//
// A plugin's redirect is not followed by the client but goes the whole way again, at most [MaxRedirects] times. When the origin
// changes, credentials and custom headers stay behind, a body is not sent, and a request to which the host added a
// credential is not sent at all. The host's own clients follow none.
//
// Refused besides: link-local and metadata addresses, for anyone and whatever is configured; private addresses and
// loopback, unless the operator's configuration names that exact origin; ambient proxies, cookies and credentials;
// TLS below 1.2 and certificates that do not verify. Audit records and errors say the origin and addresses and
// never path, query or header.
//
// Whoever makes a [PluginHTTP] closes it, and whoever makes a [Gate] closes that. Nothing here survives a crash.
package net
