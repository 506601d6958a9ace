package quickstart

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/host/approval"
)

// Search is what the look for the secret came to.
type Search struct {
	Places int      `json:"places"` // how many texts and files were searched
	Bytes  int64    `json:"bytes"`
	Found  []string `json:"found"` // places that show the secret
}

// search looks everywhere that a person, a model or a thief of the home could look, but in the file that holds the
// secret.
func (h *Home) search(o Outcome, asked []approval.Question, log []byte) (Search, error) {
	s := Search{Found: []string{}}
	forms := disguises(h.secret)
	look := func(place string, data []byte) {
		s.Places++
		s.Bytes += int64(len(data))
		for _, form := range forms {
			if bytes.Contains(data, form) {
				s.Found = append(s.Found, place)
				return
			}
		}
	}
	for i, e := range o.Effects {
		for view, text := range map[string]string{
			"model": e.Views.Model.String(), "operator": e.Views.Operator.String(), "event": e.Views.Event.String(),
			"durable": e.Views.Durable.String(), "debug": e.Views.Debug.String(),
		} {
			look(fmt.Sprintf("%s view of effect %d (%s)", view, i+1, e.Tool), []byte(text))
		}
		stages, err := json.Marshal(e.Stages)
		if err != nil {
			return s, fmt.Errorf("quickstart: look into the trace of %s: %w", e.Tool, err)
		}
		look(fmt.Sprintf("trace of effect %d (%s)", i+1, e.Tool), append(stages, e.Sentence...))
	}
	look("reply", []byte(o.Turn.Reply()+o.Turn.Sentence()))
	look("log", log)
	for _, q := range asked {
		look("question "+string(q.ID), []byte(q.Arguments+q.Why+q.RuleKey))
	}
	err := filepath.WalkDir(h.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == filepath.Join(h.workspace, secretFile) {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			name, _ := filepath.Rel(h.Path, path)
			look("file "+name, data)
		}
		return err
	})
	if err != nil {
		return s, fmt.Errorf("quickstart: look into the home: %w", err)
	}
	return s, nil
}

// disguises are the forms in which a secret slips through: itself, in hex, in base64 at each of the three places that
// it can begin at, backwards.
func disguises(secret string) [][]byte {
	forms := [][]byte{[]byte(secret), []byte(hex.EncodeToString([]byte(secret)))}
	for shift := range 3 {
		padded := append(make([]byte, shift), secret...)
		whole := len(padded) / 3 * 3 // what follows changes the last group
		text := base64.RawStdEncoding.EncodeToString(padded[:whole])
		if shift > 0 {
			text = text[4:] // what comes before changes the first
		}
		forms = append(forms, []byte(text))
	}
	back := []byte(secret)
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return append(forms, back)
}
