package forge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
)

// Watched is what a ticket waits for: what becomes of a pull request, its checks and reviews, and of the issue.
type Watched struct {
	Issue int `json:"issue"`
	Pull  int `json:"pull"`
}

// Seen is the state that an earlier poll saw at one address. It holds no text that a person wrote.
type Seen struct {
	Tag     string `json:"tag,omitempty"` // of the answer; empty: the server gives none
	Digest  string `json:"digest"`        // of what counts in it
	Head    string `json:"head,omitempty"`
	Pending bool   `json:"pending,omitempty"`
}

// Polled is the result of a poll.
type Polled struct {
	Seen    map[string]Seen
	Changed bool // since the last poll
	Pending bool // a check of the head has not ended
}

// firstPage is the only page that a poll looks at. It has to be whole: an answer of one entry stays as it is while
// another check fails.
const firstPage = "?per_page=100&limit=100"

// Poll asks whether something has changed since the last poll. A server that gives entity tags answers 304 as long as
// nothing has.
func (c *Client) Poll(ctx context.Context, w Watched, seen map[string]Seen) (Polled, error) {
	p := poll{Client: c, seen: seen, out: Polled{Seen: map[string]Seen{}}}
	pull := p.look(ctx, "pull", pullPath(w.Pull), func(read func(any) error) (Seen, any, error) {
		var w wirePull
		err := read(&w)
		pull := c.pullOf(w)
		return Seen{Head: pull.Head}, []any{pull.Head, pull.Open, pull.Merged, pull.Conflicts}, err
	})
	p.look(ctx, "issue", issuePath(w.Issue), func(read func(any) error) (Seen, any, error) {
		var w wireIssue
		err := read(&w)
		i := w.issue()
		return Seen{}, []any{i.Title, i.Body, i.Open, i.Locked}, err
	})
	p.look(ctx, "reviews", pullPath(w.Pull)+"/reviews"+firstPage, func(read func(any) error) (Seen, any, error) {
		var list []wireReview
		err := read(&list)
		var all []Review
		for _, w := range list {
			all = append(all, w.review())
		}
		return Seen{}, all, err
	})
	if p.err != nil || pull.Head == "" {
		return p.out, p.err
	}
	p.look(ctx, "status "+pull.Head, commitPath(pull.Head, "status")+firstPage, func(read func(any) error) (Seen, any, error) {
		var w wireCombined
		err := read(&w)
		return Seen{Pending: hasPending(w.checks())}, w.checks(), err
	})
	if c.server.Kind == GitHub {
		p.look(ctx, "check-runs "+pull.Head, commitPath(pull.Head, "check-runs")+firstPage, func(read func(any) error) (Seen, any, error) {
			var w wireRuns
			err := read(&w)
			return Seen{Pending: hasPending(w.checks())}, w.checks(), err
		})
	}
	return p.out, p.err
}

// poll is a poll that is in progress.
type poll struct {
	*Client
	seen map[string]Seen
	out  Polled
	err  error
}

// look asks for one address. decode reads the answer and returns what of it counts.
func (p *poll) look(ctx context.Context, name, path string, decode func(read func(any) error) (s Seen, counts any, err error)) Seen {
	if p.err != nil {
		return Seen{}
	}
	before, known := p.seen[name]
	var body json.RawMessage
	tag, err := p.ask(ctx, http.MethodGet, path, before.Tag, nil, &body)
	now := before
	if !errors.Is(err, ErrUnchanged) {
		if p.err = err; err != nil {
			return Seen{}
		}
		var counts any
		now, counts, err = decode(func(out any) error { return json.Unmarshal(body, out) })
		if err != nil {
			p.err = &Error{Err: err}
			return Seen{}
		}
		b, err := json.Marshal(counts)
		if err != nil {
			p.err = err
			return Seen{}
		}
		sum := sha256.Sum256(b)
		now.Tag, now.Digest = tag, hex.EncodeToString(sum[:8])
	}
	p.out.Seen[name] = now
	p.out.Changed = p.out.Changed || !known || now.Digest != before.Digest
	p.out.Pending = p.out.Pending || now.Pending
	return now
}

func hasPending(list []Check) bool {
	for _, c := range list {
		if c.Result == Waiting {
			return true
		}
	}
	return false
}
