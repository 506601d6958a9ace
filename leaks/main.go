// Command leaks looks for secrets in what a run left behind, with a scanner that is not ours: gitleaks, its rules and its
// decoders. It is a module of its own, because gitleaks is no dependency of Portcullis.
//
//	go run . DIR PLANTED
//
// PLANTED is a file with one value a line that must be in no file below DIR, in no encoding that gitleaks decodes; what
// its own rules take for a secret counts too. First it proves that it would see each value. It changes nothing.
package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: leaks DIR PLANTED")
		os.Exit(2)
	}
	found, err := look(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	if found > 0 {
		os.Exit(1)
	}
}

// look prints every finding and returns how many there are.
func look(dir, planted string) (int, error) {
	text, err := os.ReadFile(planted)
	if err != nil {
		return 0, fmt.Errorf("leaks: read what was planted: %w", err)
	}
	values := strings.Split(strings.TrimSpace(string(text)), "\n")
	d, err := scanner(values)
	if err != nil {
		return 0, err
	}
	for _, v := range values {
		if err := sees(d, v); err != nil {
			return 0, err
		}
	}
	found, files, size := 0, 0, 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, ".wasm") { // a plugin's program is no output
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files, size = files+1, size+len(data)
		for _, f := range d.DetectBytes(data) {
			found++
			fmt.Printf("%s: %s, line %d: %.60s\n", path, f.RuleID, f.StartLine, f.Match)
		}
		return nil
	})
	fmt.Printf("leaks: %d findings in %d files (%d bytes); %d of %d planted values would be seen\n", found, files, size, len(values), len(values))
	if err == nil && files == 0 {
		err = fmt.Errorf("leaks: there is no file below %s", dir)
	}
	return found, err
}

// scanner is gitleaks with its own rules and one for each value.
func scanner(values []string) (*detect.Detector, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("leaks: load the rules of gitleaks: %w", err)
	}
	d.MaxDecodeDepth = 3
	for i, v := range values {
		id := fmt.Sprintf("planted-%d", i+1)
		d.Config.Rules[id] = config.Rule{RuleID: id, Regex: regexp.MustCompile(regexp.QuoteMeta(v))}
	}
	return d, nil
}

// sees proves that a value is found as it stands and in the encodings that gitleaks decodes: a look that cannot find
// anything is none.
func sees(d *detect.Detector, value string) error {
	for how, text := range map[string]string{
		"as it stands": value,
		"base64":       base64.StdEncoding.EncodeToString([]byte("prefix " + value + " suffix")),
		"hex":          hex.EncodeToString([]byte("prefix " + value + " suffix")),
	} {
		if len(d.DetectString("some words before "+text+" and behind")) == 0 {
			return fmt.Errorf("leaks: the scanner does not see a planted value (%s)", how)
		}
	}
	return nil
}
