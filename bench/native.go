package main

import (
	"context"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// startNative is one pass of validation over the document in Go: the yardsticks of the 64 KiB goal.
func startNative(context.Context) ([]peer, func(), error) {
	pass := func(valid func([]byte) bool) func(context.Context, []byte) ([]byte, error) {
		return func(_ context.Context, doc []byte) ([]byte, error) {
			if !valid(doc) {
				return nil, errNotEchoed
			}
			return doc, nil
		}
	}
	return []peer{
		{validate, pass(json.Valid)},
		{strictly, pass(func(doc []byte) bool { return jsontext.Value(doc).IsValid() })},
	}, func() {}, nil
}
