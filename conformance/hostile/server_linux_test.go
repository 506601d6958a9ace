package hostile_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// server is a local server that the home's configuration opens for plugins.
type server struct {
	url, host string
	asked     atomic.Int64
}

func serve(t *testing.T) *server {
	s := &server{}
	mux := http.NewServeMux()
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/endless", func(out http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := out.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/away", func(out http.ResponseWriter, r *http.Request) {
		http.Redirect(out, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	mux.HandleFunc("/", func(out http.ResponseWriter, _ *http.Request) {
		if _, err := out.Write([]byte("here")); err != nil {
			t.Error(err)
		}
	})
	real := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		mux.ServeHTTP(out, r)
	}))
	t.Cleanup(real.Close)
	s.url = real.URL
	s.host = strings.TrimPrefix(real.URL, "http://")
	return s
}
