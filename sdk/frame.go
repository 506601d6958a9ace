package sdk

import (
	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// ask sends one frame and takes one apart: read gets each member of the header
// but the fault, which becomes the error; the body is returned. The function to
// call is an argument, so that sharing this code keeps no host function alive.
func ask(call func([]byte) []byte, header codec.Writer, body []byte, read reader) ([]byte, error) {
	arg, err := wire.EncodeFrame(header.Bytes(), body)
	if err != nil {
		return nil, &Fault{Code: TooLarge, Message: err.Error()}
	}
	head, body, err := wire.SplitFrame(call(arg))
	if err != nil {
		return nil, notUnderstood(err)
	}
	var fault *Fault
	err = codec.Members(string(head), func(name string, r *codec.Reader) error {
		if name == "fault" {
			fault, err = readFault(r)
			return err
		}
		return read(name, r)
	})
	if err != nil {
		return nil, notUnderstood(err)
	}
	if fault != nil {
		return body, fault
	}
	return body, nil
}

// reader reads one member of a reply.
type reader func(name string, r *codec.Reader) error

// acknowledged reads a reply that is a fault or nothing.
func acknowledged(name string, r *codec.Reader) error { return r.Unknown(name) }

func readFault(r *codec.Reader) (*Fault, error) {
	if r.Null() {
		return nil, nil
	}
	f := &Fault{}
	return f, r.Members(func(name string, r *codec.Reader) error {
		switch name {
		case "code":
			return r.Text((*string)(&f.Code))
		case "message":
			return r.Text(&f.Message)
		}
		return r.Unknown(name)
	})
}

func notUnderstood(err error) error {
	return &Fault{Code: Failed, Message: "the host's answer is not understood: " + err.Error()}
}
