package sandbox

import (
	"context"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Signer makes message authentication codes with keys that no guest sees. It refuses by a fault; an error means that it
// could not do its job, and its words stay in the host. It waits for nobody and is safe for concurrent use.
type Signer interface {
	// Sign is the code of data under the signing of that name in the plugin's manifest.
	Sign(ctx context.Context, name string, data []byte) (code []byte, fault *wire.Fault, err error)
}

// sign hands one text to the port, within the call's budget: a guest that may sign could otherwise have the host hash
// for as long as it runs.
func (s *Session) sign(ctx context.Context, req wire.SignRequest, data []byte) (any, []byte, *wire.Fault) {
	switch {
	case s.opt.Sign == nil:
		return nil, nil, faultf(wire.CodeUnavailable, "this host signs nothing")
	case !wire.ValidSettingName(req.Name):
		return nil, nil, faultf(wire.CodeInvalid, "the name is not one that a manifest declares under signing")
	case len(data) > wire.MaxSignBytes:
		return nil, nil, faultf(wire.CodeTooLarge, "there are %d bytes to sign, at most %d are allowed", len(data), wire.MaxSignBytes)
	case s.signed+int64(len(data)) > maxSigned:
		return nil, nil, faultf(wire.CodeTooLarge, "this call may have %d bytes signed", maxSigned)
	}
	s.signed += int64(len(data))
	code, fault, err := s.opt.Sign.Sign(ctx, req.Name, data)
	switch {
	case err != nil:
		return nil, nil, faultf(wire.CodeIO, "it could not be signed")
	case fault != nil:
		return nil, nil, bounded(fault)
	}
	return wire.SignReply{}, code, nil
}
