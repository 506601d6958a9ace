package sdk

import (
	"encoding/json"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// ask sends one frame and takes one apart: the header into reply, the body
// returned. The function to call is an argument, so that sharing this code keeps
// no host function alive.
func ask(call func([]byte) []byte, request any, body []byte, reply any) ([]byte, error) {
	header, err := json.Marshal(request)
	if err != nil {
		return nil, Errorf(Failed, "encode the request: %v", err)
	}
	arg, err := wire.EncodeFrame(header, body)
	if err != nil {
		return nil, Errorf(TooLarge, "%v", err)
	}
	header, body, err = wire.SplitFrame(call(arg))
	if err == nil {
		err = wire.Decode(header, wire.MaxHeaderBytes, reply)
	}
	if err != nil {
		return nil, Errorf(Failed, "the host's answer is not understood: %v", err)
	}
	return body, nil
}

// settled joins the two ways in which a call can fail: it did not happen, or the
// answer is no.
func settled(err error, f *Fault) error {
	if err != nil {
		return err
	}
	if f == nil {
		return nil // not a nil pointer in an error
	}
	return f
}
