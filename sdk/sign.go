package sdk

import (
	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Sign is the message authentication code of data under one entry of the
// plugin's Signing, 32 or 64 bytes: the host has the key, the plugin gets the
// code. data is at most 1 MiB. Errors are a [*Fault]: [Denied] for a name that
// is not declared or whose secret the tool does not list, [TooLarge] for more
// data or more codes than one call may have. Needs secret.bind:<NAME>.
func (h Host) Sign(name string, data []byte) ([]byte, error) {
	if len(data) > wire.MaxSignBytes {
		return nil, Errorf(TooLarge, "there are %d bytes to sign, at most %d are allowed", len(data), wire.MaxSignBytes)
	}
	var head codec.Writer
	head.Text("name", name)
	return ask(h.border().sign, head, data, acknowledged)
}
