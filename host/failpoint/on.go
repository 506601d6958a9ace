//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// delay is how long a point waits that is armed to.
const delay = 20 * time.Millisecond

type arming struct {
	name, mode string
	at         int64
	reached    atomic.Int64
	hits       *os.File // nil: not wanted
}

// armed is read from the environment once, when the first point is reached.
var armed = sync.OnceValue(func() *arming {
	a := &arming{at: 1}
	if path := os.Getenv("PORTCULLIS_FAILPOINT_HITS"); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			give(err)
		}
		a.hits = f
	}
	text := os.Getenv("PORTCULLIS_FAILPOINT")
	if text == "" {
		return a
	}
	name, mode, ok := strings.Cut(text, "=")
	mode, nth, counted := strings.Cut(mode, "@")
	a.name, a.mode = name, mode
	if counted {
		n, err := strconv.ParseInt(nth, 10, 64)
		if err != nil || n < 1 {
			give(fmt.Errorf("PORTCULLIS_FAILPOINT=%s: which time is %q?", text, nth))
		}
		a.at = n
	}
	if !ok || name == "" || mode != "kill" && mode != "error" && mode != "delay" {
		give(fmt.Errorf("PORTCULLIS_FAILPOINT=%s: want <name>=kill, =error or =delay", text))
	}
	return a
})

func give(err error) {
	fmt.Fprintln(os.Stderr, "failpoint:", err)
	os.Exit(3)
}

// Hit does what the point is armed to do; see the package's comment.
func Hit(name string) error {
	a := armed()
	if a.hits != nil {
		if _, err := a.hits.WriteString(name + "\n"); err != nil {
			give(err)
		}
	}
	if name != a.name || a.reached.Add(1) != a.at {
		return nil
	}
	switch a.mode {
	case "kill":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {}
	case "delay":
		time.Sleep(delay)
		return nil
	}
	return ErrInjected
}

// Caller is prefix with the name of the function that called the one which calls Caller.
func Caller(prefix string) string {
	pcs := make([]uintptr, 1)
	f, _ := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]).Next()
	return prefix + "." + f.Function[strings.LastIndex(f.Function, ".")+1:]
}
