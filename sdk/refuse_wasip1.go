//go:build wasip1

package sdk

// refuse keeps the mistakes for whoever asks the guest what it is. The first
// list stays: what follows from it is noise.
func refuse(err error) {
	if registered == nil || registered.refused == nil {
		registered = &Program{refused: err}
	}
}
