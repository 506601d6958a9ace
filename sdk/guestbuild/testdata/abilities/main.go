// Command abilities uses every host function once: the builder's tests read
// which imports its binary has.
package main

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	all := []sdk.Capability{
		{Name: "fs.read", Reason: "reads"}, {Name: "fs.write", Reason: "writes"},
		{Name: "kv", Reason: "keeps"}, {Name: "net.fetch", Reason: "fetches"},
	}
	sdk.Register(sdk.Plugin{
		ID: "abilities", Version: "0.1.0", Summary: "Uses everything.", License: "Apache-2.0",
		Capabilities: all,
		Egress:       []sdk.Egress{{Host: "*", Reason: "whatever is asked"}},
		Settings:     []sdk.Setting{{Name: "url", Description: "what to fetch", Default: "https://a.example/"}},
		Tools: []sdk.ToolSpec{
			sdk.Tool("abilities.use", "Use everything.", use, sdk.Needs("fs.read", "fs.write", "kv", "net.fetch")),
		},
	})
}

func main() {}

type useIn struct {
	Name string `json:"name" default:"a"`
}

type useOut struct {
	Files []string `json:"files"`
	Keys  []string `json:"keys"`
	Body  []byte   `json:"body"`
	Time  string   `json:"time"`
	Dice  []byte   `json:"dice"`
}

func use(ctx context.Context, in useIn, h sdk.Host) (useOut, error) {
	var out useOut
	h.Progress("begin", 0, 1)
	out.Time = h.Now().Format("2006-01-02T15:04:05.000Z07:00")
	out.Dice = make([]byte, 4)
	err := errors.Join(h.Random(out.Dice), files(h, in.Name, &out), keys(h, in.Name, &out))
	if err != nil {
		return out, err
	}
	resp, err := h.Do(ctx, &sdk.Request{URL: h.Setting("url")})
	if err != nil {
		return out, err
	}
	out.Body = resp.Body
	h.Log(sdk.LevelInfo, "end", "status", resp.Status)
	return out, nil
}

func files(h sdk.Host, name string, out *useOut) error {
	f := h.Files()
	if err := errors.Join(
		f.MkdirAll("dir"),
		f.WriteFile("dir/"+name, []byte("text"), sdk.Create),
		f.Rename("dir/"+name, "dir/moved"),
		f.WriteFile("gone", nil, sdk.Append),
		f.Remove("gone"),
	); err != nil {
		return err
	}
	opened, err := f.Open("dir/moved")
	if err != nil {
		return err
	}
	content, err := io.ReadAll(opened)
	if err != nil {
		return err
	}
	out.Files = append(out.Files, string(content))
	return fs.WalkDir(f, ".", func(path string, _ fs.DirEntry, err error) error {
		out.Files = append(out.Files, path)
		return err
	})
}

func keys(h sdk.Host, name string, out *useOut) error {
	kv := h.KV()
	version, err := kv.Set(name, []byte("1"))
	if err != nil {
		return err
	}
	if _, err := kv.CompareAndSet(name, []byte("2"), version); err != nil {
		return err
	}
	if _, err := kv.Set("gone", nil); err != nil {
		return err
	}
	if err := kv.Delete("gone"); err != nil {
		return err
	}
	for e, err := range kv.List("") {
		if err != nil {
			return err
		}
		value, _, err := kv.Get(e.Key)
		if err != nil {
			return err
		}
		out.Keys = append(out.Keys, e.Key+"="+string(value))
	}
	return nil
}
