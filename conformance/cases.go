package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	strict "github.com/go-json-experiment/json"
)

// CasesFile is where a plugin keeps its cases, relative to its folder.
const CasesFile = "testdata/cases.json"

// maxCases bounds one file of cases.
const maxCases = 8 << 20

// Case is one call of one tool, with the world before it and the answer after.
//
//	[{
//	  "name":   "reads a file",
//	  "tool":   "files.read",
//	  "args":   {"path": "a.txt"},
//	  "files":  {"a.txt": "hello\n", "empty/": ""},
//	  "result": {"content": "hello\n"}
//	}, {
//	  "tool":  "files.read",
//	  "args":  {"path": "b.txt"},
//	  "fault": {"code": "not_found"}
//	}]
//
// Exactly one of result and fault is there. Everything is granted that the
// plugin's manifest asks for, unless without takes it away.
type Case struct {
	Name string          `json:"name,omitempty"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`

	// Files is the workspace before the call: content by path. A path that
	// ends in a slash is an empty directory.
	Files map[string]string `json:"files,omitempty"`
	// KV is the plugin's values before the call, each with version 1.
	KV map[string]string `json:"kv,omitempty"`
	// HTTP is what the network answers, in order of the calls.
	HTTP []Exchange `json:"http,omitempty"`
	// Settings are the operator's values.
	Settings map[string]string `json:"settings,omitempty"`
	// NowUnixMS is the clock, milliseconds since 1970 UTC; it stands still.
	// 0 means 2026-01-02T03:04:05Z.
	NowUnixMS int64 `json:"now_unix_ms,omitempty"`
	// Without lists capability names that this call does not get, such as "kv".
	Without []string `json:"without,omitempty"`

	// Result is the answer, compared as JSON: order of members and spaces do
	// not matter, numbers by value.
	Result json.RawMessage `json:"result,omitempty"`
	// Fault is the answered no.
	Fault *WantFault `json:"fault,omitempty"`
	// FilesAfter is checked path by path when it is there; null means that the
	// path must be gone.
	FilesAfter map[string]*string `json:"files_after,omitempty"`
	// KVAfter is checked key by key when it is there; null means that the key
	// must be gone.
	KVAfter map[string]*string `json:"kv_after,omitempty"`
}

// WantFault is the fault that a case expects. An empty message is not compared.
type WantFault struct {
	Code    wire.Code `json:"code"`
	Message string    `json:"message,omitempty"`
}

// Exchange is one HTTP request that a case expects and its answer. Either the
// answer has a status, or a fault stands in for it.
type Exchange struct {
	Method string `json:"method"` // compared
	URL    string `json:"url"`    // compared, whole
	// RequestHeaders are compared one by one; others may be there.
	RequestHeaders map[string]string `json:"request_headers,omitempty"`
	RequestBody    *string           `json:"request_body,omitempty"` // compared when there

	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Fault   *wire.Fault       `json:"fault,omitempty"`
}

// ParseCases reads a file of cases strictly: unknown members, a member twice,
// and cases that expect nothing or two things are refused, with the number of
// the case.
func ParseCases(data []byte) ([]Case, error) {
	if len(data) > maxCases {
		return nil, fmt.Errorf("conformance: cases have %d bytes, at most %d are allowed", len(data), maxCases)
	}
	var cases []Case
	if err := strict.Unmarshal(data, &cases, strict.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("conformance: read cases: %w", err)
	}
	if len(cases) == 0 {
		return nil, errors.New("conformance: there is no case")
	}
	for i, c := range cases {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("conformance: case %d (%s): %w", i, c.Title(), err)
		}
	}
	return cases, nil
}

// ReadCases reads the cases of the plugin in dir. The error is
// [io/fs.ErrNotExist] when it has none.
func ReadCases(dir string) ([]Case, error) {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(CasesFile)))
	if err != nil {
		return nil, fmt.Errorf("conformance: %w", err)
	}
	return ParseCases(data)
}

// Title is the name of the case, or its tool.
func (c *Case) Title() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Tool
}

func (c *Case) check() error {
	switch {
	case !wire.ValidToolName(c.Tool):
		return fmt.Errorf("%q is not a tool name", c.Tool)
	case len(c.Args) == 0 || c.Args[0] != '{':
		return errors.New("args is not an object")
	case (c.Result == nil) == (c.Fault == nil):
		return errors.New("exactly one of result and fault must be there")
	case c.Fault != nil && !c.Fault.Code.Known():
		return fmt.Errorf("fault code %q is not one of the contract's ten", c.Fault.Code)
	}
	for p := range c.Files {
		if !fs.ValidPath(trimSlash(p)) || p == "." || p == "/" {
			return fmt.Errorf("files: %q is not a path inside the workspace", p)
		}
	}
	for i, x := range c.HTTP {
		if x.Method == "" || x.URL == "" || (x.Status == 0) == (x.Fault == nil) {
			return fmt.Errorf("http[%d]: needs method, url, and either status or fault", i)
		}
	}
	return nil
}

func trimSlash(p string) string {
	if n := len(p) - 1; n > 0 && p[n] == '/' {
		return p[:n]
	}
	return p
}
