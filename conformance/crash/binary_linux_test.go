package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// outside is the world that the program's plugin acts on: a server that writes down each call as it arrives.
type outside struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int    // "<life> <call>"
	then  map[string]func() // what the call sets off
}

func newOutside(t *testing.T) *outside {
	o := &outside{calls: map[string]int{}, then: map[string]func(){}}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		key := r.URL.Query().Get("life") + " " + r.URL.Query().Get("call")
		o.calls[key]++
		if do := o.then[key]; do != nil {
			do()
		}
	}))
	t.Cleanup(o.Close)
	return o
}

// when lets a call of a life set something off.
func (o *outside) when(life, call int, do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.then[fmt.Sprint(life, call)] = do
}

func (o *outside) happened(life, call int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[fmt.Sprint(life, call)]
}

// program is the real binary with a home whose agent may act outside.
type program struct {
	exe, home, dir, url string
}

func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.exe, append(args, "--home", p.home)...)
	cmd.Env = append(os.Environ(), "PORTCULLIS_HOME="+p.home)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that a kill takes its children along
	return cmd
}

func (p program) must(t *testing.T, args ...string) {
	t.Helper()
	if out, err := p.command(t.Context(), args...).CombinedOutput(); err != nil {
		t.Fatalf("portcullis %v: %v\n%s", args, err, out)
	}
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "portcullis-crash-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "portcullis")
	if said, err := exec.Command("go", "build", "-o", out, "../../cli/portcullis").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return out, nil
})

func newProgram(t *testing.T, server string) program {
	t.Helper()
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := program{exe: exe, dir: t.TempDir(), url: server}
	p.home = filepath.Join(p.dir, "home")
	bundle := conformancetest.Build(t, filepath.Join(conformancetest.Root(t), "conformance", "guests", "outside"), "outside")
	p.write(t, "home/config.yaml", "schema_version: 1\ndefault_core: actor\nnetwork: {allow_private: ["+strconv.Quote(server)+"]}\n")
	p.must(t, "plugin", "install", bundle)
	out, err := p.command(t.Context(), "plugin", "list", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Plugins []struct{ Digest string } }
	if err := json.Unmarshal(out, &list); err != nil || len(list.Plugins) != 1 {
		t.Fatalf("plugin list: %v\n%s", err, out)
	}
	p.write(t, "home/cores/actor/agent.yaml", "schema_version: 1\nagent: {id: actor}\nmodel: {provider: scripted, script: script.yaml}\n"+
		"plugins:\n  - {id: outside, version: \"1.0.0\", digest: \""+list.Plugins[0].Digest+"\"}\n"+
		"capabilities: [\"tool.call:*\", \"net.fetch:"+at.Host+"\"]\napproval: {default: auto}\n")
	p.write(t, "home/cores/actor/agent/soul.md", "You act.\n")
	p.write(t, "home/cores/actor/agent/script.yaml", "version: 1\nsteps:\n  - say: idle\n")
	p.must(t, "plugin", "grant", "outside", "net.fetch:"+at.Host)
	return p
}

func (p program) write(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(p.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// live runs one life of the program: a turn that acts twice. kill, if there is one, is given what ends it.
func (p program) live(t *testing.T, life int, kill func(now func())) (out []byte, killed bool, took time.Duration) {
	t.Helper()
	script := fmt.Sprintf("life%d.yaml", life)
	p.write(t, script, fmt.Sprintf(`version: 1
steps:
  - call: [{tool: outside.act, args: {url: "%[1]s/?life=%[2]d&call=1"}}]
  - call: [{tool: outside.act, args: {url: "%[1]s/?life=%[2]d&call=2"}}]
  - say: done
`, p.url, life))
	cmd := p.command(t.Context(), "run", "act", "twice", "--json", "--script", filepath.Join(p.dir, script))
	var said, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards gone: a process that was waited for may have lent its number to another
	gone := false
	if kill != nil {
		kill(func() {
			mu.Lock()
			defer mu.Unlock()
			if !gone {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			}
		})
	}
	// Wait would free the number before gone can say so: wait without that first.
	_, _, _ = syscall.Syscall6(syscall.SYS_WAITID, 1, uintptr(cmd.Process.Pid), 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
	mu.Lock()
	gone = true
	mu.Unlock()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, _ := exit.Sys().(syscall.WaitStatus)
		killed = status.Signaled()
	}
	if err != nil && !killed {
		t.Errorf("life %d: %v\n%s", life, err, stderr.String())
	}
	return said.Bytes(), killed, time.Since(began)
}

// TestKilledProgram kills the real program at random moments of a turn that acts outside twice, life after life over one
// home, and holds each life to what the other side saw. The next life is the restart.
func TestKilledProgram(t *testing.T) {
	kills := 500 / stride(t, 50)
	world := newOutside(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	done, killed, acted, lost, twice := 0, 0, 0, 0, 0
	seed := uint64(time.Now().UnixNano())
	for home := range 2 {
		p := newProgram(t, world.URL)
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(home)))
			first := 1_000_000 * (home + 1)
			known := map[id.Turn]bool{}
			var whole time.Duration // what a life takes, as far as is known now
			for n := range 2 {      // the first makes the plugin's machine code
				var out []byte
				out, _, whole = p.live(t, first-n, nil)
				for _, f := range p.judge(t, world, first-n, out, known) {
					t.Errorf("a life that nobody ended: %s", f)
				}
			}
			for n := 1; n <= kills/2; n++ {
				life := first + n
				out, dead, took := p.live(t, life, func(now func()) {
					if n%2 == 0 { // just as it acts
						soon := time.Duration(random.Int64N(int64(10 * time.Millisecond)))
						world.when(life, 1+random.IntN(2), func() { time.AfterFunc(soon, now) })
						return
					}
					time.AfterFunc(time.Duration(random.Int64N(int64(whole))), now)
				})
				if !dead {
					whole = took
				}
				faults := p.judge(t, world, life, out, known)
				mu.Lock()
				for _, f := range faults {
					t.Errorf("seed %d, life %d: %s", seed, n, f)
					lost, twice = lost+strings.Count(f, "lost: "), twice+strings.Count(f, "twice: ")
				}
				done++
				if dead {
					killed++
				}
				acted += world.happened(life, 1) + world.happened(life, 2)
				mu.Unlock()
			}
			p.closing(t)
		})
	}
	all.Wait()
	visited.add(killed, lost, twice)
	t.Logf("crash: %d lives of the program, %d killed, %d effects seen outside", done, killed, acted)
	if killed < done/3 {
		t.Errorf("only %d of %d lives were killed", killed, done)
	}
}

// judge looks at the database that a life left, before the next one recovers it. At most one turn is new.
func (p program) judge(t *testing.T, world *outside, life int, out []byte, known map[id.Turn]bool) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	path := filepath.Join(p.home, "portcullis.db")
	if report, err := sqlite.Check(t.Context(), path); err != nil || len(report.Faults) > 0 {
		fault("the database is not sound: %+v, %v", report, err)
		return faults
	}
	w, err := openWorld(t.Context(), path)
	if err != nil {
		fault("open: %v", err)
		return faults
	}
	defer w.close()
	if w.by, err = operator(w); err != nil {
		t.Error(err)
		return faults
	}
	st, err := w.look(t.Context())
	if err != nil {
		fault("look: %v", err)
		return faults
	}
	var mine turn.Record
	for key, r := range st.turns {
		if !known[key] {
			if mine.ID != "" {
				fault("two turns for one life: %s and %s", mine.ID, key)
			}
			known[key], mine = true, r
		}
	}
	for key, r := range st.turns {
		if mine.ID != "" && key != mine.ID && r.State == turn.Running { // who starts a turn has recovered the others before
			fault("turn %s of an earlier life was not recovered", key)
		}
	}
	for call := 1; call <= 2; call++ {
		p.judgeEffect(world.happened(life, call), effectOf(st, mine.ID, fmt.Sprintf("call=%d", call)), fault)
	}
	var told struct {
		Outcome string `json:"outcome"`
		Turn    string `json:"turn_id"`
	}
	if json.NewDecoder(bytes.NewReader(out)).Decode(&told) == nil && told.Turn != "" {
		if got := st.turns[id.Turn(told.Turn)]; string(got.Outcome) != told.Outcome {
			fault("lost: the program said that %s is %s, and it is %s", told.Turn, told.Outcome, got.State)
		}
	}
	return faults
}

// effectOf is the effect of a turn with such an argument.
func effectOf(st state, of id.Turn, argument string) effect.Record {
	for _, e := range st.effects {
		if e.Turn == of && strings.Contains(string(e.Arguments), argument) {
			return e
		}
	}
	return effect.Record{}
}

func (p program) judgeEffect(happened int, e effect.Record, fault func(string, ...any)) {
	switch {
	case happened > 1:
		fault("twice: the effect happened %d times", happened)
	case happened == 1 && !e.Started:
		fault("the effect happened and its start is not recorded")
	case happened == 0 && e.Status == effect.Succeeded:
		fault("the effect is recorded as succeeded and did not happen")
	}
}

// closing lets the program recover what the last kill left and asks it whether all is well.
func (p program) closing(t *testing.T) {
	t.Helper()
	cmd := p.command(t.Context(), "run", "nothing", "--json")
	cmd.Stderr = io.Discard
	if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte(`"idle"`)) {
		t.Errorf("a turn after all kills: %v\n%s", err, out)
	}
	p.must(t, "store", "check")
}
