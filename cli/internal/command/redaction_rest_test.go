package command

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/host/secret"
)

// nothingIsLeft looks for values in everything that was said over the home and in every file of it, byte by byte: the
// database with its write-ahead log, artifacts, caches. The vault is left out, for it is where the value is kept.
func (n *nest) nothingIsLeft(values ...string) {
	n.t.Helper()
	var forms []string
	for _, v := range values {
		quoted := string(must(json.Marshal(v)))
		forms = append(forms, v, quoted[1:len(quoted)-1], url.QueryEscape(v))
	}
	for _, v := range forms {
		if bytes.Contains(n.said.Bytes(), []byte(v)) {
			n.t.Errorf("%q was said", v)
		}
	}
	files, database := 0, false
	err := filepath.WalkDir(n.home.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == secret.FileName {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		database = database || bytes.HasPrefix(data, []byte("SQLite format 3\x00"))
		for _, v := range forms {
			if i := bytes.Index(data, []byte(v)); i >= 0 {
				n.t.Errorf("%s has %q at byte %d: %q", path, v, i, data[max(0, i-80):min(len(data), i+80)])
			}
		}
		return nil
	})
	if err != nil || !database {
		n.t.Errorf("%d files were looked at, the database among them: %v (%v)", files, database, err)
	}
}

// keep copies the home without its vault, and everything that was said, to where another program looks for secrets.
func (n *nest) keep(dir string) {
	n.t.Helper()
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		n.t.Fatal(err)
	}
	copyHome(n.t, n.home.Path, filepath.Join(run, "home"))
	for _, name := range []string{secret.FileName, secret.IdentityName} {
		if err := os.Remove(filepath.Join(run, "home", name)); err != nil {
			n.t.Fatal(err)
		}
	}
	var planted bytes.Buffer
	for _, p := range elevenPlaces() {
		planted.WriteString(p.secret + "\n")
	}
	for name, data := range map[string][]byte{"run/said.txt": n.said.Bytes(), "planted.txt": planted.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
}
