// Package providertest is the contract every network adapter of host/provider
// passes: [Run] drives an adapter, through the real vendor library, against a
// local server that speaks the vendor's wire, and expects the same behaviour
// of all of them. It is for tests only.
package providertest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// Key is the API key the tests use.
const Key = "sk-test-0123456789abcdef"

// Vendor is an adapter under test and the wire it speaks.
type Vendor struct {
	Adapter provider.Adapter
	Open    func(provider.Config, provider.Deps) (provider.Model, error)
	// BasePath is what a base URL of this vendor ends with, "" or "/v1".
	BasePath string
	// KeyOf reads the key from a request's headers.
	KeyOf func(http.Header) string
	// Frames writes an answer as complete server-sent events, the end mark last.
	Frames func(Answer) []string
	// Malformed is a frame whose JSON is broken.
	Malformed string
	// StreamError is a frame that reports an overloaded server inside a stream.
	StreamError string
	// Errors are the vendor's error answers.
	Errors []ErrorAnswer
}

// Answer is what the server says, in no vendor's words.
type Answer struct {
	Pieces []Piece
	Finish provider.FinishReason
	Usage  *provider.Usage
}

// Piece is one delta: Text, or the start of call Index when ID or Name is set,
// or else a piece of that call's argument text.
type Piece struct {
	Text     string
	Call     bool
	Index    int
	ID, Name string
	Args     string
}

// ErrorAnswer is an HTTP error and what must become of it.
type ErrorAnswer struct {
	Name   string
	Status int
	Body   string
	Want   provider.ErrorKind
}

// Say is a piece of text.
func Say(text string) Piece { return Piece{Text: text} }

// Start begins a tool call.
func Start(index int, id, name string) Piece {
	return Piece{Call: true, Index: index, ID: id, Name: name}
}

// Args is a piece of argument text.
func Args(index int, text string) Piece { return Piece{Call: true, Index: index, Args: text} }

// Request returns a small valid request with one tool.
func Request() provider.Request {
	return provider.Request{
		System:   "be brief",
		Messages: []provider.Message{provider.User("what is 6*7?")},
		Tools: []provider.ToolDefinition{{
			Name: "calc.eval", WireName: "calc-eval", Description: "evaluates",
			InputSchema: []byte(`{"type":"object","properties":{"expression":{"type":"string"}}}`),
		}},
	}
}

// Run runs the contract.
func Run(t *testing.T, v Vendor) {
	t.Run("answers", func(t *testing.T) { answers(t, v) })
	t.Run("failures", func(t *testing.T) { failures(t, v) })
	t.Run("bounds", func(t *testing.T) { bounds(t, v) })
	t.Run("secrets", func(t *testing.T) { secrets(t, v) })
}

// Server is a local server that counts what it is asked.
type Server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []Seen
}

// Seen is one request as the server read it.
type Seen struct {
	Path   string
	Header http.Header
	Body   string
}

// Serve starts a server that records each request and then runs handle.
func Serve(t *testing.T, handle http.HandlerFunc) *Server {
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("server: read request: %v", err)
		}
		s.mu.Lock()
		s.requests = append(s.requests, Seen{Path: r.URL.Path, Header: r.Header.Clone(), Body: string(body)})
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Requests returns what the server has been asked so far.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.requests...)
}

// Stream returns a handler that answers 200 with the given events.
func Stream(frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("request-id", "req_test")
		for _, f := range frames {
			fmt.Fprint(w, f)
			w.(http.Flusher).Flush()
		}
	}
}

// Config returns a configuration for a server at url.
func (v Vendor) Config(url string) provider.Config {
	return provider.Config{
		Kind: v.Adapter, Model: "test-model", BaseURL: url + v.BasePath,
		APIKey: func(context.Context) (string, error) { return Key, nil },
	}
}

// Ask sends the small request to handle and returns what came of it.
func (v Vendor) Ask(t *testing.T, handle http.HandlerFunc, change func(*provider.Config)) (provider.Response, []provider.Event, error) {
	t.Helper()
	s := Serve(t, handle)
	cfg := v.Config(s.URL)
	if change != nil {
		change(&cfg)
	}
	var events []provider.Event
	resp, err := v.model(t, cfg, s.Client()).Generate(t.Context(), Request(), func(e provider.Event) { events = append(events, e) })
	return resp, events, err
}

func (v Vendor) model(t *testing.T, cfg provider.Config, client *http.Client) provider.Model {
	t.Helper()
	m, err := v.Open(cfg, provider.Deps{HTTPClient: client})
	if err != nil {
		t.Fatalf("open %s: %v", v.Adapter, err)
	}
	return m
}
