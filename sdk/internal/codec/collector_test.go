package codec_test

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
)

// holder has held values behind two pointers and in a list.
type holder struct {
	P *struct {
		P *held `json:"p"`
	} `json:"p"`
	L []held          `json:"l"`
	A [2]*string      `json:"a"`
	M map[string]long `json:"m"`
}

// long takes so long to read that the collector comes by between its first member and its last.
type long struct {
	First string `json:"first"`
	L     []held `json:"l"`
}

// held has a pointer behind each way in which the codec makes memory: pointers, lists of every kind, maps and interfaces.
type held struct {
	PS   *string    `json:"ps,omitempty"`
	LS   []string   `json:"ls,omitempty"`
	LP   []*string  `json:"lp,omitempty"`
	A    [2]*string `json:"a"`
	Any  any        `json:"any,omitempty"`
	Text string     `json:"text,omitempty"`
	B    []byte     `json:"b,omitempty"`
}

func heldText(n int) string {
	text := func(i int) string { return fmt.Sprintf(`"a text that is not in the source\u003a %d of %d"`, i, n) }
	inner := fmt.Sprintf(`{"ps":%s,"ls":[%s,%s,%s],"lp":[%s,%s],"a":[%s,null],"any":{"k":[%s]},"text":%s,"b":"aGVsZA=="}`,
		text(1), text(2), text(3), text(4), text(5), text(6), text(7), text(8), text(9))
	return fmt.Sprintf(`{"p":{"p":%s},"l":[%s],"a":[%s,%s],"m":{"k":{"first":%s,"l":[%s]}}}`,
		inner, inner+","+inner, text(10), text(11), text(12), strings.TrimSuffix(strings.Repeat(inner+",", 100), ","))
}

// collecting is set in the process that runs with a collector that checks.
const collecting = "PORTCULLIS_TEST_COLLECTING"

// All that a decoded value holds is seen by the collector while it is read and after. The test runs in a process of its
// own, where memory that was freed is overwritten and every collection is checked by a second one.
func TestTheCollectorSeesWhatWasDecoded(t *testing.T) {
	if os.Getenv(collecting) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), collecting+"=1", "GOGC=1", "GODEBUG=clobberfree=1,gccheckmark=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, out[:min(len(out), 4<<10)])
		}
		return
	}
	p, err := codec.Build(reflect.TypeFor[holder](), codec.Extra{Maps: []codec.Map{codec.MapOf[string, long]()}})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			var kept []*holder
			for n := range 20 {
				v := &holder{}
				if err := p.Decode(heldText(n), unsafe.Pointer(v)); err != nil {
					t.Error(err)
					return
				}
				kept = append(kept, v)
				runtime.GC()
			}
			for n, v := range kept {
				again := &holder{}
				if err := p.Decode(heldText(n), unsafe.Pointer(again)); err != nil || !reflect.DeepEqual(v, again) {
					t.Errorf("value %d has changed: %v", n, err)
					return
				}
			}
		})
	}
	work.Wait()
}
