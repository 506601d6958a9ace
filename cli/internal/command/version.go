package command

import (
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func (s *shell) version() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version of this program and of the plugin contract it serves",
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			v := thisVersion()
			return s.out.Answer(v, func(t *console.Text) {
				t.Say("portcullis %s (plugin contract %s, %s %s)", v.Version, v.ABI, v.Go, v.Platform)
				if v.Commit != "" {
					t.Say("commit %s", v.Commit)
				}
			})
		},
	}
}

// versionAnswer is the answer of `portcullis version`.
type versionAnswer struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	ABI      string `json:"abi"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisVersion() versionAnswer {
	v := versionAnswer{Version: "development build", ABI: wire.ABI, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
