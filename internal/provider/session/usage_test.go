package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// A worker that stops in order tells nobody what the turn under way has used: the next attempt does.
func TestUsageOfACanceledTurnIsToldByTheNextAttempt(t *testing.T) {
	b := newBench(t)
	req := b.request("[[usage:1000,20]]" + write("a.txt", "A") + write("b.txt", "B") + "[[say:done]]")
	req.Work.Tools = run.AllowTools
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	resp, err := b.provider().Generate(ctx, req, func(p provider.Progress) {
		if p.Used.TotalTokens >= 1020 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	var told int64
	if resp.Usage != nil {
		told = resp.Usage.TotalTokens
	}
	before := len(b.fake.Model.Requests())
	if resp, err = b.call(req); err != nil {
		t.Fatal(err)
	}
	told += resp.Usage.TotalTokens
	all := len(b.fake.Model.Requests())
	if least, most := 1020*int64(1+all-before), 1020*int64(all); told < least || told > most { // the last request before the end may have had no answer
		t.Errorf("%d tokens are told of %d requests, %d of them before it was canceled", told, all, before)
	}
}
