package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/internal/exchange"
)

// explain turns a failure of the library into ours.
func explain(ctx context.Context, call *exchange.Call, err error) *provider.Error {
	if known := call.Failure(ctx, err); known != nil {
		return known
	}
	var api *sdk.Error
	if errors.As(err, &api) {
		kind, message := classify(api)
		return call.Error(kind, exchange.Said(exchange.Explain(kind), message))
	}
	if errors.Is(err, errCut) {
		if !strings.HasPrefix(call.ContentType(), "text/event-stream") {
			return call.Error(provider.KindProtocol, "the server did not answer with an event stream (content type "+call.ContentType()+"): check base_url")
		}
		return call.Error(provider.KindProtocol, "the answer was cut before its end")
	}
	return call.Error(provider.KindProtocol, "the answer is malformed")
}

// classify reads the vendor's error body. Errors inside a stream arrive under
// status 200, so the type counts first and the status where it says nothing.
func classify(api *sdk.Error) (provider.ErrorKind, string) {
	var envelope struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	// A body that is no such JSON leaves both empty; the status then decides.
	_ = json.Unmarshal([]byte(api.RawJSON()), &envelope)
	message := envelope.Error.Message
	switch envelope.Error.Type {
	case "authentication_error", "permission_error", "billing_error":
		return provider.KindAuth, message
	case "rate_limit_error":
		return provider.KindRateLimited, message
	case "overloaded_error", "api_error", "timeout_error", "conflict_error":
		return provider.KindOverloaded, message
	case "request_too_large":
		return provider.KindContextOverflow, message
	case "not_found_error":
		return provider.KindBadRequest, message
	case "invalid_request_error":
		if tooLong(message) {
			return provider.KindContextOverflow, message
		}
		return provider.KindBadRequest, message
	default:
		return exchange.KindOfStatus(api.StatusCode), message
	}
}

// tooLong recognises an over-long prompt. The vendor gives it no type of its
// own: the beginning of this sentence is all the wire has to tell it apart
// ("prompt is too long: 208310 tokens > 200000 maximum", "input length and
// `max_tokens` exceed context limit: ...").
func tooLong(message string) bool {
	return strings.HasPrefix(message, "prompt is too long") ||
		strings.HasPrefix(message, "input length and `max_tokens` exceed context limit")
}
