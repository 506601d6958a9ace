package main

// The packages whose tests notice when a guard of the network is gone; ./host/net is inNet.
const inEgress = "./policy/egress"

// reaching is what stands between a request and a connection, whoever asks.
func reaching() []guard {
	const (
		policy = "policy/egress/"
		dir    = "host/net/"
	)
	return []guard{
		{"remedies-are-the-operators", dir + "exchange.go", "where, v.Reason, v.Sentence)", "where, v.Reason, v.Sentence+v.Remedy)", inNet, "TestEachLayerAloneRefuses/no_grant"},
		{"url-userinfo", policy + "parse.go", `if strings.Contains(a, "@") {`, "if false {", inEgress, "TestParseURLRefuses"},
		{"url-bytes", policy + "parse.go", "case c <= ' ' || c == 0x7f:", "case false:", inEgress, "TestParseURLRefuses"},
		{"url-backslash", policy + "parse.go", `case c == '\\':`, "case false:", inEgress, "TestParseURLRefuses"},
		{"url-host", policy + "parse.go", "if err := checkHost(host); err != nil {", "if err := checkHost(host); false {", inEgress, "TestLegacyIPv4FormsAreRefused"},
		{"url-dots", policy + "parse.go", "if hasDotSegment(t.path) {", "if false {", inEgress, "TestParseURLRefuses"},
		{"rule-port", policy + "policy.go", "case !r.matchesPort(t):", "case false:", inNet, "TestEveryFieldOfARuleIsEnforced"},
		{"rule-method", policy + "policy.go", "case !r.matchesMethod(method):", "case false:", inNet, "TestEveryFieldOfARuleIsEnforced"},
		{"rule-path", policy + "policy.go", `case r.PathPrefix != "" && !under(t.path, r.PathPrefix):`, "case false:", inNet, "TestEveryFieldOfARuleIsEnforced"},
		{"rule-hidden-path", policy + "policy.go", `case r.PathPrefix != "" && hidesPath(t.path):`, "case false:", inEgress, "TestPathTricks"},
		{"metadata-names", policy + "policy.go", "case metadataHost(t.host):", "case false:", inEgress, "TestStarNeverCoversAddressesOrPrivateNames"},
		{"every-answer", policy + "address.go", "for _, a := range answers {", "for _, a := range answers[:1] {", inNet, "TestSSRF/plugin_HTTP"},
		{"codings-counted", dir + "body.go", "len(codings) != 1 ||", "len(codings) == 0 ||", inNet, "TestAnAnswerThatCannotBeSearchedIsNotPassedOn"},
		{"redirects-to-secrets", dir + "exchange.go", "if p.namesSecret(location) {", "if false {", inNet, "TestARedirectToANameWithASecretIsNotTold"},
		{"metadata-addresses", dir + "classify.go", "case within(ip, metadata):", "case false:", inNet, "TestSSRF/provider"},
		{"carriers", dir + "classify.go", "case within(ip, carriers) || registries.SafeAddr(ip) != nil:", "case within(ip, carriers) && registries.SafeAddr(ip) != nil:", inNet, "TestSSRF/provider"},
		{"addresses-of-a-name", dir + "resolve.go", "return found, egress.CheckAddresses(answers, open.opened(t)), nil", "return found, egress.Verdict{Allowed: len(answers) > 0}, nil", inNet, "TestSSRF/plugin_HTTP"},
		{"addresses-of-a-client", dir + "resolve.go", "return found, egress.CheckAddresses(answers, open.opened(t)), nil", "return found, egress.Verdict{Allowed: len(answers) > 0}, nil", inNet, "TestSSRF/provider"},
		{"address-of-the-socket", dir + "connect.go", "Class: Classify(ip)}}, opened); !v.Allowed {", "Class: Classify(ip)}}, opened); false {", inNet, "TestTheSocketIsJudgedAgain"},
		{"exact-origin", dir + "allowance.go", "if a.origins[t.Origin()] {", "if len(a.origins) > 0 {", inNet, "TestAllowancesAreExactOrigins"},
		{"private-is-named", dir + "plugin.go", "if p.named(t) {\n\t\treturn p.gate.private", "if true {\n\t\treturn p.gate.private", inNet, "TestAGrantOfEveryHostOpensNoPrivateOrigin"},
		{"private-is-closed", dir + "allowance.go", "if a.origins[t.Origin()] {", "if true {", inNet, "TestSSRF/provider"},
		{"asked-once", dir + "lane.go", "if l != nil {", "if l != nil && false {", inNet, "TestRebindingIsAskedOnce"},
		{"absolute-names", dir + "resolve.go", `		name += "."`, `		name += ""`, inNet, "TestNamesAreAskedForAsAbsolute"},
		{"resolver", dir + "gate.go", "&stdnet.Resolver{PreferGo: true}", "&stdnet.Resolver{}", inNet, "TestNamesAreResolvedByGo"},
		{"no-proxy", dir + "connect.go", "Proxy:                  nil,", "Proxy:                  http.ProxyFromEnvironment,", inNet, "TestSSRFPublicControls/provider"},
		{"redirect-is-judged", dir + "exchange.go", "if v := p.judge(x.method, x.target); !v.Allowed {", "if v := p.judge(x.method, x.target); x.hop == 0 && !v.Allowed {", inNet, "TestRedirectsAreJudgedAgain"},
		{"redirect-headers", dir + "redirect.go", "case crosses && !crossesOrigins(name):", `case crosses && name == "Authorization":`, inNet, "TestCredentialsAreForOneOrigin"},
		{"redirect-body", dir + "redirect.go", "case crosses && !toGet && len(x.body) > 0:", "case false:", inNet, "TestBodiesAreForOneOrigin"},
		{"redirect-bound", dir + "redirect.go", "case crosses && x.bound:", "case false:", inNet, "TestABoundRequestStaysAtItsOrigin"},
		{"redirect-https", dir + "redirect.go", `case from.Scheme() == "https" && next.Scheme() == "http":`, "case false:", inNet, "TestRedirectFromHTTPSToHTTPIsRefused"},
		{"redirect-count", dir + "redirect.go", "case x.hop > MaxRedirects:", "case x.hop > 1<<10:", inNet, "TestRedirectsEnd"},
		{"audit-of-origins", dir + "exchange.go", "Origin: x.target.Origin(), Hop: x.hop,", "Origin: x.target.String(), Hop: x.hop,", inNet, "TestNothingRepeatsWhatMayBeSecret"},
		{"audit-before-sending", dir + "exchange.go", "if err := p.record(ctx, x, found, v); err != nil {\n\t\treturn nil, wire.HTTPReply{}, err", "if err := p.record(ctx, x, found, v); false {\n\t\treturn nil, wire.HTTPReply{}, err", inNet, "TestADecisionThatCannotBeRecordedIsARefusal"},
		{"audit-before-connecting", dir + "client.go", `if err := c.record(ctx, "", t, found, v); err != nil {`, `if err := c.record(ctx, "", t, found, v); false {`, inNet, "TestProviderDecisionThatCannotBeRecordedIsARefusal"},
		{"client-redirects", dir + "client.go", "v.Allowed && req.Response != nil {", "false {", inNet, "TestClientFollowsNoRedirect"},
		{"client-sends-the-judged", dir + "client.go", `own.URL, own.Host = u, ""`, "_ = u", inNet, "TestClientSendsWhatWasJudged"},
		{"provider-origin", dir + "provider.go", "if t.Origin() != own.Origin() {", "if false {", inNet, "TestProviderReachesNothingElse"},
	}
}
