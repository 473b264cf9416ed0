package failure_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
)

func TestErrorInJSON(t *testing.T) {
	for want, e := range map[string]failure.Error{
		`{"code":"AUTH","message":"401","retriable":false}`:                                {Code: failure.Auth, Message: "401"},
		`{"code":"RATE_LIMIT","message":"slow down","retriable":true,"retryAfterMs":1500}`: {Code: failure.RateLimit, Message: "slow down", Retriable: true, RetryAfter: 1500 * time.Millisecond},
	} {
		got, err := json.Marshal(e)
		if err != nil || string(got) != want {
			t.Errorf("%+v is written as %s, %v", e, got, err)
		}
		var back failure.Error
		if err := json.Unmarshal(got, &back); err != nil || back != e {
			t.Errorf("%s is read as %+v, %v", got, back, err)
		}
	}
	for _, text := range []string{`{"code":"auth"}`, `{"code":""}`, `{"code":"OVERLOADED"}`} {
		if err := json.Unmarshal([]byte(text), new(failure.Error)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}
