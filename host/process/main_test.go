package process_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/b3abf3ee/portcullis/host/process"
)

func TestMain(m *testing.M) {
	if process.IsKeeper(os.Args) {
		os.Exit(process.Keep())
	}
	if len(os.Args) == 3 && os.Args[1] == "be-a-host" {
		os.Exit(beAHost(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}
