//go:build !linux && !darwin

package plugin

import (
	"errors"
	"os"
)

// exchange is not possible here.
func exchange(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
