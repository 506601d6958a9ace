package main

const inCredential = "./host/credential"

// keeping is what gives a secret to a call and to nobody else.
func keeping() []guard {
	bind := func(name, old, new, test string) guard {
		return guard{name, "host/credential/bind.go", old, new, inCredential, "TestWhatIsNotBound/" + test}
	}
	place := func(name, file, old, new, test string) guard {
		return guard{name, "host/net/" + file, old, new, inNet, test}
	}
	const mayNot = "TestWhatAPluginMayNotDoAboutACredential/"
	return []guard{
		bind("secret-in-core", "if !exactly(core.Capabilities, use) {", "if false {", "not_in_the_core"),
		bind("secret-of-that-very-name", "return slices.Contains(s.Strings(), use)", "return slices.ContainsFunc(s.Strings(), func(g string) bool { return strings.HasPrefix(g, use) })", "another_in_the_core"),
		bind("secret-granted", "if w.Plugin != \"\" && !exactly(w.Granted, use) {", "if false {", "not_granted"),
		bind("secret-name", "if _, err := secret.ParseName(name); err != nil {", "if _, err := secret.ParseName(name); err != nil && false {", "a_name_that_steers"),
		bind("sixteen-secrets", "if len(w.Names) > MaxSecrets {", "if false {", "more_than_sixteen"),
		bind("short-secret", "if no := unfit(w.Tool, name, value); !no.Zero() {", "if no := unfit(w.Tool, name, value); false {", "a_short_variable"),
		bind("binding-on-record", "if err := b.audit.Record(ctx, b.record(w)); err != nil {", "if err := b.audit.Record(ctx, b.record(w)); err != nil && false {", "no_record"),
		{"expired-secret", "host/secret/read.go", "case e.expired(d.Clock()):", "case false:", inCredential, "TestWhatIsNotBound/expired"},
		{"call-ends-with-its-secret", "host/effect/invoke.go", "limit = min(limit, until.Sub(now))", "limit = max(limit, until.Sub(now))", inEffect, "TestACallEndsBeforeItsSecretsExpire"},
		{"bound-is-hidden", "host/effect/secrets.go", "if err := p.catalog.hide(v.name, v.value()); err != nil {", "if err := error(nil); err != nil {", inEffect, "TestABoundValueIsTheAdaptersAndHiddenForTheRestOfTheTurn"},
		{"all-or-none", "host/effect/secrets.go", "case !slices.Equal(bound.Names(), wanted):", "case false:", inEffect, "TestNothingRunsWithoutItsSecrets/none"},
		{"needs-of-arguments", "host/effect/secrets.go", "if !slices.Contains(needs, n) {", "if false {", inEffect, "TestSecretsNamedByArgumentsAreNeeds"},

		place("destination", "credential.go", "return t.Origin() == s.origin && s.paths", "return t.Origin() == s.origin || s.paths", "TestACredentialGoesNowhereElse"),
		place("destination-path", "credential.go", "return t.Origin() == s.origin && s.paths.Check(http.MethodGet, t).Allowed", "return t.Origin() == s.origin", "TestACredentialGoesNowhereElse"),
		place("own-header", "credential.go", "if len(x.header[name]) > 0 {", "if false {", mayNot+"its_own_header"),
		place("own-parameter", "credential.go", "if !strings.EqualFold(have.name, s.Field) {", "if have.name != s.Field {", mayNot+"the_parameter_in_disguise"),
		place("placeholder-elsewhere", "credential.go", "\t\t\tif stands {", "\t\t\tif false {", mayNot+"a_placeholder_to_another"),
		place("placeholder-in-body", "inject_body.go", "\tcase at == nil && (", "\tcase at != nil && (", mayNot+"another_member"),
		place("range", "credential.go", "if len(x.header[\"Range\"]) > 0 {", "if false {", mayNot+"part_of_the_answer"),
		place("in-the-clear", "exchange.go", "if len(x.carried) > 0 && !p.sealed(x.target, found) {", "if false {", "TestACredentialIsNotSentInTheClear"),
		place("value-in-a-path", "inject.go", "if !placeable(s, value) {", "if false {", "TestAValueThatCannotStandInItsPlaceIsNotSent"),
		place("redirect-with-credential", "credential.go", "\tx.bound = true\n", "", "TestARedirectTakesNoCredentialAlong"),
		place("credential-after-a-redirect", "credential.go", "if x.crossed || !s.isFor(x.target) {", "if !s.isFor(x.target) {", "TestACredentialIsForRequestsThatThePluginMade"),
		place("answer-masked", "inject.go", "clean, ok := p.call.Mask(body)", "clean, ok := body, true", "TestAnAnswerIsMasked/in_pieces"),
		place("headers-masked", "inject.go", "clean, ok := p.call.Mask([]byte(v))", "clean, ok := []byte(v), true", "TestAnAnswerIsMasked/in_a_header"),
		place("answer-in-an-encoding", "exchange.go", "if p.call.Mask != nil && !unzipped && len(body) > 0 && encoded(resp.Header) {", "if false {", "TestAnAnswerThatCannotBeSearchedIsNotPassedOn"),
		place("answer-unsearched", "exchange.go", "if !ok || !readable {", "if false && (!ok || !readable) {", "TestAnAnswerThatCannotBeSearchedIsNotPassedOn"),
		{"mask-of-values", "policy/redact/mask.go", "\tif len(spans) == 0 {", "\tif true {", "./policy/redact", "TestMaskTakesOutKnownValuesAndNothingElse"},
		{"mask-reaches-the-host", "host/invoke.go", "c.Credentials, c.Mask = a.credentials(call), mask(call)", "c.Credentials, c.Mask = a.credentials(call), nil", inCommand, "TestScripts/credentials"},

		{"scan-reaches-the-host", "host/net/exchange.go", "if p.leaks(req, body) {", "if false {", inCommand, "TestScripts/credentials"},
		{"sign-declared", "host/credential/sign.go", "if d.Name != name {", "if false {", inCredential, "TestWhatIsNotSigned"},
		{"sign-bound", "host/credential/sign.go", "if !ok {\n\t\t\treturn no(wire.CodeDenied, \"signing", "if false {\n\t\t\treturn no(wire.CodeDenied, \"signing", inCredential, "TestWhatIsNotSigned"},
		{"sign-key", "host/credential/sign.go", "if len(key) < MinKey {", "if false {", inCredential, "TestWhatIsNotSigned"},
		{"sign-amount", "host/sandbox/ability_sign.go", "case s.signed+int64(len(data)) > maxSigned:", "case false:", inSandbox, "TestACallHasABoundedAmountSigned"},
		{"keyring-time", "host/secret/identity.go", "\tcase <-ctx.Done():\n", "\tcase <-make(chan struct{}):\n", "./host/secret", "TestAKeyringThatWaitsIsNotWaitedForLong"},
	}
}
