package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
)

// Metering changes nothing of what the guests of any language compute: metered and as their toolchain left them, by the
// compiler and by the interpreter, they answer with the same bytes, call for call in one running instance.
func TestMeteredGuestsOfAllLanguagesAnswerAlike(t *testing.T) {
	texts := []string{`""`, `"größer 😀😀😀 na\u00efve"`, `"tab\tand \u0000 and \ud83d\ude00"`, `"` + strings.Repeat("many words ", 500) + `"`}
	for _, g := range conformancetest.Languages(t) {
		t.Run(g.Name, func(t *testing.T) {
			metered, report := meterWith(t, g.Wasm, wasmbin.DefaultLimits())
			if report.Checks == 0 {
				t.Fatal("nothing was metered")
			}
			var want []string
			for _, wasm := range [][]byte{g.Wasm, metered} {
				for name, rc := range map[string]wazero.RuntimeConfig{"compiled": wazero.NewRuntimeConfigCompiler(), "interpreted": wazero.NewRuntimeConfigInterpreter()} {
					k := newKernelOn(t, rc, wazero.NewModuleConfig(), wasm)
					var got []string
					for _, text := range texts {
						got = append(got, k.invoke(t, fmt.Appendf(nil, `{"id":"eff_1","tool":"%s.count","args":{"text":%s}}`, g.Name, text)))
					}
					if want == nil {
						want = got
					}
					for i := range texts {
						if got[i] != want[i] || !strings.HasPrefix(got[i], `{"result":{"words":`) {
							t.Errorf("text %d, %s, %d bytes of module: %s, want %s", i, name, len(wasm), got[i], want[i])
						}
					}
				}
			}
		})
	}
}
