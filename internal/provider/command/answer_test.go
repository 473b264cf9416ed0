package command

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestWhatAProgramPrints(t *testing.T) {
	raw := func(text string) provider.Response {
		return provider.Response{RawText: text, FinishReason: provider.Stop}
	}
	failed := func(text string, e failure.Error) provider.Response { return provider.FailedResponse(&e, text, 0) }
	tests := map[string]struct {
		out  string
		want provider.Response
	}{
		"nothing":                             {"", raw("")},
		"plain text":                          {"hello\n", raw("hello\n")},
		"a JSON object without rawText":       {`{"text": 1}`, raw(`{"text": 1}`)},
		"rawText in other letters":            {`{"rawtext": "x"}`, raw(`{"rawtext": "x"}`)},
		"rawText further down":                {`{"a": {"rawText": "x"}}`, raw(`{"a": {"rawText": "x"}}`)},
		"a JSON list":                         {`[{"rawText": "x"}]`, raw(`[{"rawText": "x"}]`)},
		"a response behind a banner":          {"[dotenv@17] injecting env\n" + `{"rawText": "x", "usage": {"inputTokens": 3}}` + "\n", provider.Response{RawText: "x", FinishReason: provider.Stop, Usage: &run.Usage{InputTokens: 3}}},
		"a response of lines behind a banner": {"> x@1 start\n> node p.js\n\n{\n  \"rawText\": \"x\"\n}\n", raw("x")},
		"a response behind a byte order mark": {"\ufeff" + `{"rawText": "x"}`, raw("x")},
		"an error behind a banner":            {"hello\n" + `{"rawText": "", "error": {"code": "AUTH", "message": "m"}}`, failed("", failure.Error{Code: failure.Auth, Message: "m"})},
		"a response of yarn":                  {"yarn run v1.22.22\n$ node p.js\n" + `{"rawText": "x"}` + "\nDone in 0.12s.\n", raw("x")},
		"a response among control sequences":  {"\x1b[2K\x1b[1G\n\x1b[0m" + `{"rawText": "x"}` + "\x1b[?25h\n", raw("x")},
		"a byte order mark behind a banner":   {"hello\r\n\ufeff" + `{"rawText": "x"}` + "\r\n", raw("x")},
		"text that ends like yarn's":          {"The plan\nDone in 2s.\n", raw("The plan\nDone in 2s.\n")},
		"text that ends in another object":    {"hello\n{\"text\": 1}\n", raw("hello\n{\"text\": 1}\n")},
		"a response with a line behind it":    {`{"rawText": "x"}` + "\nbye\n", raw(`{"rawText": "x"}` + "\nbye\n")},
		"two JSON objects":                    {`{"rawText": "x"}{"rawText": "y"}`, raw(`{"rawText": "x"}{"rawText": "y"}`)},
		"a torn JSON object":                  {`{"rawText": "x`, raw(`{"rawText": "x`)},
		"a response":                          {` {"rawText": "x\ny"}` + "\n", raw("x\ny")},
		"a response with members of its own":  {`{"rawText": "x", "model": "m", "durationMs": "soon"}`, raw("x")},
		"a response full of nulls":            {`{"rawText": "x", "finishReason": null, "usage": null, "error": null}`, raw("x")},
		"a response cut by the output limit":  {`{"rawText": "x", "finishReason": "length"}`, provider.Response{RawText: "x", FinishReason: provider.Length}},
		"a response with its usage":           {`{"rawText": "x", "usage": {"inputTokens": 3, "cached": 1}}`, provider.Response{RawText: "x", FinishReason: provider.Stop, Usage: &run.Usage{InputTokens: 3}}},
		"an error":                            {`{"rawText": "x", "error": {"code": "AUTH", "message": "m", "retriable": false}}`, failed("x", failure.Error{Code: failure.Auth, Message: "m"})},
		"an error that says when":             {`{"rawText": "", "error": {"code": "RATE_LIMIT", "message": "m", "retriable": true, "retryAfterMs": 10}}`, failed("", failure.Error{Code: failure.RateLimit, Message: "m", Retriable: true, RetryAfter: 10 * time.Millisecond})},
		"an error that wants a year":          {`{"rawText": "", "error": {"code": "RATE_LIMIT", "message": "m", "retriable": true, "retryAfterMs": 9000000000000000000}}`, failed("", failure.Error{Code: failure.RateLimit, Message: "m", Retriable: true, RetryAfter: failure.MaxRetryAfter})},
		"an error with a code of its own":     {`{"rawText": "", "error": {"code": "OVERLOADED", "message": "m", "retriable": false}}`, failed("", failure.Error{Code: failure.Unknown, Message: "m"})},
		"an error that leaves retries to us":  {`{"rawText": "", "error": {"code": "TIMEOUT", "message": "m"}}`, failed("", failure.Error{Code: failure.Timeout, Message: "m", Retriable: true})},
		"an AUTH that leaves retries to us":   {`{"rawText": "", "error": {"code": "AUTH", "message": "m"}}`, failed("", failure.Error{Code: failure.Auth, Message: "m"})},
		"a finish reason that needs an error": {`{"rawText": "x", "finishReason": "timeout"}`, failed("x", failure.Error{Code: failure.Timeout, Message: "the program reports a timeout", Retriable: true})},
		"an error by its finish reason alone": {`{"rawText": "x", "finishReason": "error"}`, failed("x", failure.Error{Code: failure.Unknown, Message: "the program reports an error without a text", Retriable: true})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := readAnswer([]byte(tt.out)).toResponse(nil); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestAResponseIsFoundAmongOtherLines makes outputs by a grammar: the response is found, with its usage, whatever
// package managers and libraries print around it.
func TestAResponseIsFoundAmongOtherLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		text := pick("text", "x", "{\"rawText\": \"y\"}", "--- a/x\n+++ b/x\n", "Done in 2s.\n", "")
		quoted, _ := json.Marshal(text)
		response := pick("form", `{"rawText":%s,"usage":{"inputTokens":3}}`, "{\n  \"usage\": {\"inputTokens\": 3},\n  \"rawText\": %s\n}")
		out := pick("mark", "", "\ufeff") + pick("banner", "", "> x@1 start\n> node p.js\n\n", "[dotenv@17] injecting env (1) from .env\n", "yarn run v1.22.22\r\n$ node p.js\r\n", "(node:7) Warning: {old}\n") +
			strings.Replace(response, "%s", string(quoted), 1) + pick("footer", "", "\n", "\r\n", "\nDone in 0.12s.\n", "\x1b[?25h\n")
		got := readAnswer([]byte(out)).toResponse(nil)
		if got.RawText != text || got.Usage == nil || got.Usage.InputTokens != 3 || got.Error != nil {
			t.Fatalf("got %+v of %q, want the text %q and 3 tokens", got, out, text)
		}
	})
}

func TestAResponseThatBreaksTheContract(t *testing.T) {
	tests := map[string]struct{ out, raw, says string }{
		"rawText is a number":        {`{"rawText": 7}`, `{"rawText": 7}`, "rawText"},
		"rawText is null":            {`{"rawText": null}`, `{"rawText": null}`, "rawText"},
		"an unknown finish reason":   {`{"rawText": "x", "finishReason": "end_turn"}`, "x", "end_turn"},
		"a finish reason of 1":       {`{"rawText": "x", "finishReason": 1}`, "x", "finishReason"},
		"usage is a list":            {`{"rawText": "x", "usage": []}`, "x", "usage"},
		"half a token":               {`{"rawText": "x", "usage": {"inputTokens": 1.5}}`, "x", "usage"},
		"a negative number of them":  {`{"rawText": "x", "usage": {"inputTokens": -1}}`, "x", "usage"},
		"the error is a text":        {`{"rawText": "x", "error": "boom"}`, "x", "error"},
		"retriable is a text":        {`{"rawText": "x", "error": {"code": "AUTH", "message": "m", "retriable": "no"}}`, "x", "error"},
		"several members are broken": {`{"rawText": 7, "usage": 8}`, `{"rawText": 7, "usage": 8}`, "usage"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := readAnswer([]byte(tt.out)).toResponse(nil)
			if got.Error == nil || got.Error.Code != failure.BadRequest || got.Error.Retriable || !strings.Contains(got.Error.Message, tt.says) {
				t.Errorf("got %+v, want a BAD_REQUEST about %s", got.Error, tt.says)
			}
			if got.RawText != tt.raw || got.FinishReason != provider.Failed || got.Usage != nil {
				t.Errorf("got %+v, want what was received: %q", got, tt.raw)
			}
		})
	}
}

func TestWhichErrorCounts(t *testing.T) {
	exit := &failure.Error{Code: failure.Unknown, Message: "exit code 1", Retriable: true}
	tests := map[string]struct {
		out   string
		ended *failure.Error
		want  failure.Code
	}{
		"the program's own before its exit code":          {`{"rawText": "", "error": {"code": "AUTH", "message": "m"}}`, exit, failure.Auth},
		"the exit code before a broken response":          {`{"rawText": 7}`, exit, failure.Unknown},
		"the exit code before a finish reason":            {`{"rawText": "", "finishReason": "timeout"}`, exit, failure.Unknown},
		"a broken response where the program ended well":  {`{"rawText": 7}`, nil, failure.BadRequest},
		"the exit code where there is nothing but a text": {`text`, exit, failure.Unknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := readAnswer([]byte(tt.out)).toResponse(tt.ended); got.Error == nil || got.Error.Code != tt.want {
				t.Errorf("got %+v, want %s", got.Error, tt.want)
			}
		})
	}
}
