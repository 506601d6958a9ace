package command

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// server starts a loopback server for the rest of the script: server VARIABLE FILE. VARIABLE becomes its origin and
// VARIABLE_PORT its port; each request is added to FILE, and is answered with itself.
func server(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: server VARIABLE FILE")
	}
	file := ts.MkAbs(args[1])
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		text := fmt.Sprintf("%s %s\nAuthorization: %s\n%s\n", r.Method, r.URL, r.Header.Get("Authorization"), body)
		if err != nil {
			text = err.Error()
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("X-Authorization-Was", r.Header.Get("Authorization"))
		io.WriteString(w, text)
	}))
	ts.Defer(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	ts.Check(err)
	ts.Setenv(args[0], s.URL)
	ts.Setenv(args[0]+"_PORT", port)
}
