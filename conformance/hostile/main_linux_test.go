package hostile_test

import (
	"testing"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"go.uber.org/goleak"
)

//go:generate sh ../guests/hostile/build.sh

func TestMain(m *testing.M) {
	conformancetest.BeCompiler()
	goleak.VerifyTestMain(m)
}
