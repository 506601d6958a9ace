package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis"
)

// exampleID is the id of the plugins in sdk/languages, which is replaced by a new plugin's.
const exampleID = "hello"

const (
	goLanguage = "go"
	// builtFolder is where plugin pack leaves a plugin, below its folder.
	builtFolder = "dist"
)

// Languages are what a plugin can be begun in, Go being the first: the others have no sdk, and begin with one file that
// knows the border between guest and host, and a script that names their toolchain.
func Languages() []string {
	return []string{goLanguage, "c", "cpp", "rust", "assemblyscript", "javascript"}
}

// LanguageError reports a language that no plugin can be begun in.
type LanguageError struct{ Language string }

// Error says which there are.
func (e *LanguageError) Error() string {
	return fmt.Sprintf("%q is none of %s; a plugin can be written in any language that compiles to WebAssembly", e.Language, strings.Join(Languages(), ", "))
}

// written is a new plugin in a language other than Go, by name.
func written(s Spec) (map[string][]byte, error) {
	out := map[string][]byte{
		".gitignore": []byte("/" + builtFolder + "/\n/plugin.wasm\n/node_modules/\n/prelude.h\n/script.h\n"),
		"README.md":  []byte("# " + s.ID + "\n\nbuild.sh says what it needs.\n\n    " + strings.Join(Commands(".", s.ID, s.Language), "\n    ") + "\n"),
	}
	named := strings.NewReplacer(exampleID+".", ToolPrefix(s.ID)+".", exampleID, s.ID)
	from := []string{s.Language}
	if s.Language == "cpp" || s.Language == "javascript" {
		from = append(from, "c") // for its header
	}
	for i, language := range from {
		dir := path.Join("sdk", "languages", language)
		files, err := fs.ReadDir(portcullis.Languages(), dir)
		if err != nil {
			return nil, fmt.Errorf("scaffold: read %s: %w", dir, err)
		}
		for _, f := range files {
			if i > 0 && path.Ext(f.Name()) != ".h" {
				continue
			}
			text, err := fs.ReadFile(portcullis.Languages(), path.Join(dir, f.Name()))
			if err != nil {
				return nil, fmt.Errorf("scaffold: read %s: %w", f.Name(), err)
			}
			if strings.HasPrefix(f.Name(), "plugin.") {
				text = []byte(named.Replace(string(text)))
			}
			out[f.Name()] = text
		}
	}
	license, err := fs.ReadFile(portcullis.SDK(), "LICENSE")
	out["LICENSE.portcullis"] = license // of the files that are not the author's
	return out, err
}

// known says that a plugin can be begun in the language.
func known(language string) bool { return language == "" || slices.Contains(Languages(), language) }
