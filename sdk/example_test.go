package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/httpx"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// inExample stands in for the *testing.T that an example does not have.
type inExample struct{ testing.TB }

func (inExample) Helper()                      {}
func (inExample) Context() context.Context     { return context.Background() }
func (inExample) Fatal(args ...any)            { panic(fmt.Sprint(args...)) }
func (inExample) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// notes is what the plugins of the examples have in common.
func notes(tools ...sdk.ToolSpec) sdk.Plugin {
	return sdk.Plugin{
		ID: "notes", Version: "1.0.0", Summary: "Keeps notes.", License: "Apache-2.0",
		Capabilities: []sdk.Capability{
			{Name: "fs.read", Reason: "to read the notes"},
			{Name: "fs.write", Reason: "to write them"},
			{Name: "kv", Reason: "to count how often a note was read"},
			{Name: "net.fetch", Reason: "to fetch what a note links to"},
		},
		Egress:   []sdk.Egress{{Host: "*", Reason: "a note may link anywhere"}},
		Settings: []sdk.Setting{{Name: "folder", Description: "where the notes are", Default: "notes"}},
		Tools:    tools,
	}
}

type RepeatIn struct {
	Word  string `json:"word" desc:"what to say, in one word" minLength:"1"`
	Times int    `json:"times" desc:"how often" minimum:"1" maximum:"9" default:"2"`
}

type RepeatOut struct {
	Words []string `json:"words"`
}

func Repeat(_ context.Context, in RepeatIn, _ sdk.Host) (RepeatOut, error) {
	var out RepeatOut
	for range in.Times {
		out.Words = append(out.Words, in.Word)
	}
	return out, nil
}

// A plugin registers itself in init. Its main is empty: a plugin is called, not
// run.
func ExampleRegister() {
	// func init() {
	sdk.Register(sdk.Plugin{
		ID:      "echo",
		Version: "1.0.0",
		Summary: "Says things more than once.",
		License: "Apache-2.0",
		Tools: []sdk.ToolSpec{
			sdk.Tool("echo.repeat", "Repeat a word.", Repeat, sdk.ReadOnly()),
		},
	})
	// }

	p := plugintest.New(inExample{})
	fmt.Println(string(p.Call(inExample{}, "echo.repeat", `{"word":"hey"}`)))
	// Output: {"words":["hey","hey"]}
}

// The schemas that the model sees come from the types of the handler.
func ExampleTool() {
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.repeat", "Repeat a word.", Repeat)))
	tool := p.Description().Tools[0]
	var in any
	if err := json.Unmarshal(tool.InputSchema, &in); err != nil {
		panic(err)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	if err := enc.Encode(in); err != nil {
		panic(err)
	}
	fmt.Println(tool.Risk, tool.Approval, tool.Recovery)
	// Output:
	// {
	//   "additionalProperties": false,
	//   "properties": {
	//     "times": {
	//       "default": 2,
	//       "description": "how often",
	//       "maximum": 9,
	//       "minimum": 1,
	//       "type": "integer"
	//     },
	//     "word": {
	//       "description": "what to say, in one word",
	//       "minLength": 1,
	//       "type": "string"
	//     }
	//   },
	//   "required": [
	//     "word"
	//   ],
	//   "type": "object"
	// }
	// medium prompt manual
}

// A handler that passes JSON on gives its schemas itself.
func ExampleInputSchema() {
	pass := func(_ context.Context, in json.RawMessage, _ sdk.Host) (json.RawMessage, error) { return in, nil }
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.pass", "Give back what came.", pass,
		sdk.InputSchema(`{"type":"object","required":["id"]}`), sdk.OutputSchema(`{"type":"object"}`))))
	fmt.Println(string(p.Call(inExample{}, "notes.pass", `{"id":7,"more":[1]}`)))
	fmt.Println(p.Fault(inExample{}, "notes.pass", `{}`).Code)
	// Output:
	// {"id":7,"more":[1]}
	// invalid
}

type ReadIn struct {
	Name string `json:"name"`
}

type ReadOut struct {
	Text string `json:"text"`
}

// Errors with a code tell the model what went wrong and what would be right.
func ExampleErrorf() {
	read := func(_ context.Context, in ReadIn, h sdk.Host) (ReadOut, error) {
		text, err := h.Files().ReadFile("notes/" + in.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return ReadOut{}, sdk.Errorf(sdk.NotFound, "there is no note %q: list them with notes.list", in.Name)
		}
		return ReadOut{Text: string(text)}, err
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.read", "Read a note.", read, sdk.Needs("fs.read"), sdk.ReadOnly())))
	fault := p.Fault(inExample{}, "notes.read", `{"name":"milk"}`)
	fmt.Printf("%s: %s\n", fault.Code, fault.Message)
	// Output: not_found: there is no note "milk": list them with notes.list
}

func ExampleHost_Files() {
	move := func(_ context.Context, in ReadIn, h sdk.Host) (struct{}, error) {
		files := h.Files()
		return struct{}{}, errors.Join(
			files.MkdirAll("archive"),
			files.Rename(h.Setting("folder")+"/"+in.Name, "archive/"+in.Name),
			files.WriteFile("archive/index", []byte(in.Name+"\n"), sdk.Append),
		)
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.archive", "Put a note away.", move, sdk.Needs("fs.write")))).
		Files(map[string]string{"notes/milk": "buy milk"})
	p.Call(inExample{}, "notes.archive", `{"name":"milk"}`)
	fmt.Println(p.FileNames())
	// Output: [archive/index archive/milk]
}

// Files is an fs.FS, so everything that takes one works on the workspace.
func ExampleFiles() {
	find := func(_ context.Context, in ReadIn, h sdk.Host) (RepeatOut, error) {
		found, err := fs.Glob(h.Files(), in.Name)
		return RepeatOut{Words: found}, err
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.find", "Find notes.", find, sdk.Needs("fs.read"), sdk.ReadOnly()))).
		Files(map[string]string{"a.md": "", "b.md": "", "c.txt": ""})
	fmt.Println(string(p.Call(inExample{}, "notes.find", `{"name":"*.md"}`)))
	// Output: {"words":["a.md","b.md"]}
}

// Two calls at once each count: the second to write is told, and tries again.
func ExampleKV_CompareAndSet() {
	count := func(_ context.Context, in ReadIn, h sdk.Host) (ReadOut, error) {
		for {
			was, version, err := h.KV().Get(in.Name)
			if err != nil && !errors.Is(err, sdk.NotFound) {
				return ReadOut{}, err
			}
			n, _ := strconv.Atoi(string(was))
			text := strconv.Itoa(n + 1)
			_, err = h.KV().CompareAndSet(in.Name, []byte(text), version)
			if errors.Is(err, sdk.Conflict) {
				continue
			}
			return ReadOut{Text: text}, err
		}
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.count", "Count a reading.", count, sdk.Needs("kv")))).
		Keys(map[string]string{"milk": "41"})
	fmt.Println(string(p.Call(inExample{}, "notes.count", `{"name":"milk"}`)))
	// Output: {"text":"42"}
}

func ExampleKV_List() {
	list := func(_ context.Context, in ReadIn, h sdk.Host) (RepeatOut, error) {
		var out RepeatOut
		for entry, err := range h.KV().List(in.Name) {
			if err != nil {
				return out, err
			}
			out.Words = append(out.Words, entry.Key)
		}
		return out, nil
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.counted", "List what was counted.", list, sdk.Needs("kv"), sdk.ReadOnly()))).
		Keys(map[string]string{"a/1": "", "a/2": "", "b/1": ""})
	fmt.Println(string(p.Call(inExample{}, "notes.counted", `{"name":"a/"}`)))
	// Output: {"words":["a/1","a/2"]}
}

func ExampleHost_Do() {
	fetch := func(ctx context.Context, in ReadIn, h sdk.Host) (ReadOut, error) {
		header := sdk.Header{}
		header.Set("Accept", "text/plain")
		resp, err := h.Do(ctx, &sdk.Request{URL: in.Name, Header: header, Timeout: 5 * time.Second, MaxBody: 1 << 20})
		if err != nil {
			return ReadOut{}, err // denied, timeout, too_large …: the model reads why
		}
		if resp.Status != http.StatusOK {
			return ReadOut{}, sdk.Errorf(sdk.Unavailable, "%s answered %d", in.Name, resp.Status)
		}
		return ReadOut{Text: resp.Header.Get("content-type") + ": " + string(resp.Body)}, nil
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.fetch", "Fetch a link.", fetch, sdk.Needs("net.fetch")))).
		HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", r.Header.Get("Accept"))
			_, _ = io.WriteString(w, "hello")
		}))
	fmt.Println(string(p.Call(inExample{}, "notes.fetch", `{"name":"https://example.com/"}`)))
	// Output: {"text":"text/plain: hello"}
}

// Transport is for libraries that want net/http; it makes a guest much larger.
func Example_httpx() {
	fetch := func(ctx context.Context, in ReadIn, h sdk.Host) (ReadOut, error) {
		client := http.Client{Transport: httpx.Transport(h)}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.Name, nil)
		if err != nil {
			return ReadOut{}, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return ReadOut{}, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return ReadOut{Text: strings.ToUpper(string(body))}, err
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.shout", "Fetch a link.", fetch, sdk.Needs("net.fetch")))).
		HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	fmt.Println(string(p.Call(inExample{}, "notes.shout", `{"name":"https://example.com/"}`)))
	// Output: {"text":"HELLO"}
}

func ExampleHost_Progress() {
	work := func(_ context.Context, _ struct{}, h sdk.Host) (struct{}, error) {
		for step := range int64(2) {
			h.Progress("working", step+1, 2)
		}
		h.Log(sdk.LevelInfo, "done", "at", h.Now().Format(time.DateOnly))
		return struct{}{}, nil
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.work", "Work.", work))).
		At(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	p.Call(inExample{}, "notes.work", `{}`)
	for _, step := range p.Progress() {
		fmt.Println(step.Message, step.Done, "of", step.Total)
	}
	for _, line := range p.Logs() {
		fmt.Println(line.Level, line.Message, line.Attrs)
	}
	// Output:
	// working 1 of 2
	// working 2 of 2
	// info done [{at 2030-01-02}]
}

// An idempotency key that stays the same when the host repeats a call.
func ExampleCallID() {
	pay := func(ctx context.Context, _ struct{}, _ sdk.Host) (ReadOut, error) {
		return ReadOut{Text: "Idempotency-Key: " + sdk.CallID(ctx)}, nil
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.pay", "Pay.", pay, sdk.Recovery(sdk.RecoveryIdempotent))))
	fmt.Println(string(p.Call(inExample{}, "notes.pay", `{}`)))
	// Output: {"text":"Idempotency-Key: eff_test"}
}

// What the host cannot do right now is a fault that a test can ask for.
func Example_failure() {
	read := func(_ context.Context, in ReadIn, h sdk.Host) (ReadOut, error) {
		text, err := h.Files().ReadFile(in.Name)
		return ReadOut{Text: string(text)}, err
	}
	p := plugintest.For(inExample{}, notes(sdk.Tool("notes.read", "Read a note.", read, sdk.Needs("fs.read"), sdk.ReadOnly()))).
		Files(map[string]string{"milk": "buy milk"}).
		Fail(wire.ImportFSRead, "milk", sdk.IO, "the disk does not answer")
	fmt.Println(p.Fault(inExample{}, "notes.read", `{"name":"milk"}`))
	// Output: read milk: the disk does not answer
}
