//go:build !unix

package process

// spawn refuses: there is no way here to end a program with everything it started.
func (e *Engine) spawn(Command) (*Child, error) { return nil, ErrUnsupported }

func able(Keeper) error { return ErrUnsupported }
