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

// outside is the world that the program's plugin acts on: a server that writes down each call as it arrives, and says of one
// whether it did.
type outside struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int    // "<life> <call>"
	then  map[string]func() // what the call sets off once it is written down
	drops map[string]func() // what the call sets off instead of being written down
	shut  bool              // it answers no question
}

func newOutside(t *testing.T) *outside {
	o := &outside{calls: map[string]int{}, then: map[string]func(){}, drops: map[string]func(){}}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

// ServeHTTP writes a POST down, and looks a GET up.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := r.URL.Query().Get("life") + " " + r.URL.Query().Get("call")
	switch {
	case r.Method == http.MethodGet && o.shut:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodGet && o.calls[key] == 0:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
	case o.drops[key] != nil:
		o.drops[key]()
	default:
		o.calls[key]++
		if do := o.then[key]; do != nil {
			do()
		}
	}
}

// when lets a call of a life set something off.
func (o *outside) when(life, call int, do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.then[fmt.Sprint(life, call)] = do
}

// insteadOf lets a call of a life set something off and come to nothing.
func (o *outside) insteadOf(life, call int, do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drops[fmt.Sprint(life, call)] = do
}

// close lets it answer no question, or answer them again.
func (o *outside) close(shut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = shut
}

func (o *outside) happened(life, call int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[fmt.Sprint(life, call)]
}

// program is the real binary with a home whose agent may act outside.
type program struct {
	exe, cache, home, dir, url string
	pin, reach                 string // the digest of its plugin, and the capability that it acts with
}

func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.exe, append(args, "--home", p.home)...)
	cmd.Env = append(os.Environ(), "PORTCULLIS_HOME="+p.home, "PORTCULLIS_CACHE="+p.cache)
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

// answer reads the document that a command prints, and whether it said yes.
func (p program) answer(t *testing.T, into any, args ...string) (yes bool) {
	t.Helper()
	out, err := p.command(t.Context(), append(args, "--json")...).Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("portcullis %v: %v\n%s", args, err, out)
	}
	if bad := json.Unmarshal(out, into); bad != nil {
		t.Fatalf("portcullis %v: %v\n%s", args, bad, out)
	}
	return err == nil
}

// built is the program, and armed is one whose failpoints work.
var (
	built = sync.OnceValues(func() (string, error) { return build() })
	armed = sync.OnceValues(func() (string, error) { return build("-tags", "failpoint") })
)

func build(flags ...string) (string, error) {
	dir, err := os.MkdirTemp("", "portcullis-crash-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "portcullis")
	args := append(append([]string{"build"}, flags...), "-o", out, "../../cli/portcullis")
	if said, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return out, nil
}

func newProgram(t *testing.T, server string) program {
	t.Helper()
	return installed(t, server, built)
}

// newArmed is [newProgram] with failpoints.
func newArmed(t *testing.T, server string) program {
	t.Helper()
	return installed(t, server, armed)
}

func installed(t *testing.T, server string, make func() (string, error)) program {
	t.Helper()
	exe, err := make()
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := program{exe: exe, cache: conformancetest.CacheDir(t), dir: t.TempDir(), url: server}
	p.home = filepath.Join(p.dir, "home")
	bundle := conformancetest.Build(t, filepath.Join(conformancetest.Root(t), "conformance", "guests", "outside"), "outside")
	p.write(t, "home/config.yaml", "schema_version: 1\ndefault_core: actor\nnetwork: {allow_private: ["+strconv.Quote(server)+"]}\n")
	p.must(t, "plugin", "install", bundle)
	var list struct{ Plugins []struct{ Digest string } }
	if p.answer(t, &list, "plugin", "list"); len(list.Plugins) != 1 {
		t.Fatalf("plugin list: %+v", list)
	}
	p.pin, p.reach = list.Plugins[0].Digest, "net.fetch:"+at.Host
	p.core(t, "actor", "steps:\n  - say: idle\n", "")
	p.must(t, "plugin", "grant", "outside", p.reach)
	return p
}

// core writes a core that may act outside, with the script that its model goes by and what else its capabilities and the rest
// of its file say.
func (p program) core(t *testing.T, name, script, capabilities string, more ...string) {
	t.Helper()
	folder := "home/cores/" + name + "/"
	p.write(t, folder+"agent.yaml", "schema_version: 1\nagent: {id: "+name+"}\nmodel: {provider: scripted, script: script.yaml}\n"+
		"plugins:\n  - {id: outside, version: \"1.0.0\", digest: \""+p.pin+"\"}\n"+
		"capabilities: [\"tool.call:*\", \""+p.reach+"\""+capabilities+"]\napproval: {default: auto}\n"+strings.Join(more, ""))
	p.write(t, folder+"agent/soul.md", "You act.\n")
	p.write(t, folder+"agent/script.yaml", "version: 1\n"+script)
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
	began := time.Now()
	l := p.begin(t, nil, func(l *begun) {
		if kill != nil {
			kill(l.kill)
		}
	}, "run", "act", "twice", "--json", "--script", filepath.Join(p.dir, script))
	killed, err := l.wait()
	if err != nil {
		t.Errorf("life %d: %v\n%s", life, err, l.stderr.String())
	}
	return l.stdout.Bytes(), killed, time.Since(began)
}

// begun is one process of the program that may be killed at any time.
type begun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer

	mu   sync.Mutex // guards gone, as a process that was waited for may have lent its number to another, and the start
	gone bool
}

// begin starts the program. first, if there is one, is given it before that.
func (p program) begin(t *testing.T, env []string, first func(l *begun), args ...string) *begun {
	t.Helper()
	l := &begun{cmd: p.command(t.Context(), args...)}
	l.cmd.Env = append(l.cmd.Env, env...)
	l.cmd.Stdout, l.cmd.Stderr = &l.stdout, &l.stderr
	if first != nil {
		first(l)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return l
}

// kill kills it with all that is in its process group.
func (l *begun) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone && l.cmd.Process != nil {
		_ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// wait waits for its end. An error is of a process that ended by itself, and not well.
func (l *begun) wait() (killed bool, err error) {
	// Wait would free the number before gone can say so: wait without that first.
	_, _, _ = syscall.Syscall6(syscall.SYS_WAITID, 1, uintptr(l.cmd.Process.Pid), 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	err = l.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, _ := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			return true, nil
		}
	}
	return false, err
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
