package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/internal/exchange"
)

// explain turns a failure of the library into ours.
func explain(ctx context.Context, call *exchange.Call, err error) *provider.Error {
	if known := call.Failure(ctx, err); known != nil {
		return known
	}
	var api *sdk.APIError
	if errors.As(err, &api) {
		kind := classify(call.Status(), api)
		return call.Error(kind, exchange.Said(exchange.Explain(kind), api.Message))
	}
	// An error body of another shape: the status is all there is.
	var request *sdk.RequestError
	if errors.As(err, &request) {
		kind := exchange.KindOfStatus(call.Status())
		return call.Error(kind, exchange.Said(exchange.Explain(kind), string(request.Body)))
	}
	if errors.Is(err, errCut) {
		if !strings.HasPrefix(call.ContentType(), "text/event-stream") {
			return call.Error(provider.KindProtocol, "the server did not answer with an event stream (content type "+call.ContentType()+"): check base_url")
		}
		return call.Error(provider.KindProtocol, "the answer was cut before its end")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return call.Error(provider.KindProtocol, "the answer was cut before its end")
	}
	return call.Error(provider.KindProtocol, "the answer is malformed")
}

// classify reads the vendor's error object. Errors inside a stream arrive under
// status 200, so code and type count first and the status where they say nothing.
func classify(status int, api *sdk.APIError) provider.ErrorKind {
	for _, word := range []string{fmt.Sprint(api.Code), api.Type} {
		switch word {
		case "context_length_exceeded", "exceed_context_size_error", "string_above_max_length":
			return provider.KindContextOverflow
		case "insufficient_quota", "billing_hard_limit_reached", "invalid_api_key", "authentication_error",
			"invalid_authentication", "permission_error", "insufficient_permissions":
			return provider.KindAuth
		case "content_policy_violation", "content_filter", "moderation_blocked":
			return provider.KindRefused
		case "rate_limit_exceeded", "rate_limit_error":
			return provider.KindRateLimited
		case "server_error", "internal_error", "overloaded_error", "service_unavailable", "engine_overloaded":
			return provider.KindOverloaded
		case "model_not_found":
			return provider.KindBadRequest
		}
	}
	// Compatible servers (vLLM and its kin) report an over-long prompt as a plain
	// bad request; this phrase is all the wire has to tell it apart.
	if status == 400 && strings.Contains(api.Message, "maximum context length") {
		return provider.KindContextOverflow
	}
	if status < 400 {
		if code, ok := api.Code.(int); ok && code >= 400 && code < 600 {
			return exchange.KindOfStatus(code)
		}
		return provider.KindOverloaded
	}
	return exchange.KindOfStatus(status)
}
