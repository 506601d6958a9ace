package sdk

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// The guide for authors has tables of what exists. A word that is missing there
// is a thing that nobody finds, and a word too many one that nobody has.
func TestTheGuideNamesWhatThereIs(t *testing.T) {
	raw, err := os.ReadFile("../docs/writing-a-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(raw)
	var words []string
	for _, key := range strings.Split("desc enum default minimum maximum minLength maxLength pattern format minItems maxItems", " ") {
		if err := new(tags).set(key, ""); err != nil {
			t.Errorf("%s is in this list and is no tag", key)
		}
		words = append(words, "`"+key+"`")
	}
	for _, code := range []Code{Denied, Invalid, NotFound, Exists, TooLarge, Conflict, Unavailable, Timeout, IO, Failed} {
		words = append(words, "| `"+string(code)+"` |")
	}
	words = append(words,
		"http_request", "http_status_code", "http_headers", "var_get", "var_set",
		wire.ExportDescribe, wire.ExportInvoke, wire.ExportInitialize, wire.ModuleKernel, wire.ModuleHost)
	for _, name := range []string{
		wire.ImportLog, wire.ImportEmit, wire.ImportNow, wire.ImportRandom, wire.ImportHTTP,
		wire.ImportFSStat, wire.ImportFSRead, wire.ImportFSList, wire.ImportFSWrite, wire.ImportFSMkdir, wire.ImportFSRemove, wire.ImportFSRename,
		wire.ImportKVGet, wire.ImportKVSet, wire.ImportKVDelete, wire.ImportKVList, wire.ImportSign,
	} {
		imp, _ := wire.LookupImport(wire.ModuleHost, name)
		row := "| `" + name + "` | `" + imp.Needs + "` |"
		words = append(words, strings.Replace(row, " `` ", " ", 1))
	}
	for host, i := reflect.TypeFor[Host](), 0; i < host.NumMethod(); i++ {
		words = append(words, "h."+host.Method(i).Name)
	}
	for _, w := range words {
		if !strings.Contains(guide, w) {
			t.Errorf("docs/writing-a-plugin.md does not have %s", w)
		}
	}
	// Members of the frames, as the messages have them.
	for _, message := range []any{
		wire.HTTPRequest{},
		wire.HTTPReply{},
		wire.FSStatReply{},
		wire.FSReadRequest{},
		wire.FSReadReply{},
		wire.FSListRequest{},
		wire.FSListReply{},
		wire.FSWriteRequest{},
		wire.FSRenameRequest{},
		wire.KVSetRequest{},
		wire.KVListRequest{},
		wire.LogRecord{},
		wire.Progress{},
		wire.Now{},
		wire.RandomRequest{},
		wire.SignRequest{},
		wire.Credential{},
		wire.Signing{},
	} {
		for f := range reflect.TypeOf(message).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(guide, "`"+name+"`") {
				t.Errorf("docs/writing-a-plugin.md does not have the member %s of %T", name, message)
			}
		}
	}
}
