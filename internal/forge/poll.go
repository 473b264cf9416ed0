package forge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// Watched is what a ticket waits for: what becomes of a pull request, its checks and reviews, and of the issue.
type Watched struct {
	Ticket string `json:"ticket"` // names it
	Issue  int    `json:"issue"`
	Pull   int    `json:"pull"`
	Votes  bool   `json:"votes,omitempty"` // approvals by comments count
}

// Seen is the state that an earlier poll saw at one address. It holds no text that a person wrote.
type Seen struct {
	Tag     string `json:"tag,omitempty"` // of the answer; empty: the server gives none
	Digest  string `json:"digest"`        // of what counts in it
	Head    string `json:"head,omitempty"`
	Pending bool   `json:"pending,omitempty"`
}

// PollState is what the polls of a repository have seen so far. It holds no text that a person wrote.
type PollState struct {
	Since   string            `json:"since,omitempty"`   // only what has changed at this time of the server or later is listed
	List    Seen              `json:"list,omitzero"`     // of the changes
	Changed map[string]string `json:"changed,omitempty"` // times of the last list, by what they are of
	Labeled Seen              `json:"labeled,omitzero"`  // of the issues that have the label
	// Tickets is what was seen of each ticket, by its name and by address.
	Tickets map[string]map[string]Seen `json:"tickets,omitempty"`
	Turn    int                        `json:"turn"` // counts the polls
	Rate    Rate                       `json:"rate,omitzero"`
}

// Polled is the result of a poll.
type Polled struct {
	State   PollState
	Changed []string // names of tickets
	Labeled []int    // open issues that have the label, if that has changed
	Pending bool     // a check has not ended
}

// firstPage is the only page of a list that a poll looks at. It has to be whole: an answer of one entry stays as it is
// while another check fails.
const (
	firstPage = "?per_page=100&limit=100"
	// fullPage is the least number of entries of a page that may have a successor: Gitea's have 50.
	fullPage = 50
)

// A poll makes at most 2 + 6*wholeLooks + 3*checkLooks calls where nothing has changed, however many tickets there are: one
// for what has changed in the repository, one for the label, and those of some tickets in turn, for what does not count as a
// change of the repository: checks, and that the base branch has moved.
const (
	wholeLooks = 1
	checkLooks = 5 // at tickets whose checks run
)

// Poll asks whether something has changed since the last poll for the tickets of the repository, and which issues have the
// label; empty: it asks for none. A server that gives entity tags answers 304 as long as nothing has. It calls beat before each
// call.
func (c *Client) Poll(ctx context.Context, list []Watched, label string, s PollState, beat func()) (out Polled, err error) {
	out.State = s
	out.State.Tickets = map[string]map[string]Seen{}
	out.State.Turn++
	p := poll{Client: c, ctx: ctx, beat: beat, out: &out}
	moved, all := p.listChanges()
	if label != "" {
		p.listLabeled(label)
	}
	var idle, pending []Watched
	for _, w := range list {
		before, known := s.Tickets[w.Ticket]
		out.State.Tickets[w.Ticket] = before
		switch {
		case !known || all || moved[fmt.Sprint(w.Issue)] || moved["pull "+fmt.Sprint(w.Pull)]:
			p.lookWhole(w)
		case hasPendingSeen(before):
			pending = append(pending, w)
		default:
			idle = append(idle, w)
		}
	}
	for i := range min(checkLooks, len(pending)) {
		p.lookAtChecks(pending[(out.State.Turn*checkLooks+i)%len(pending)])
	}
	for i := range min(wholeLooks, len(idle)) {
		p.lookWhole(idle[(out.State.Turn*wholeLooks+i)%len(idle)])
	}
	for _, seen := range out.State.Tickets {
		out.Pending = out.Pending || hasPendingSeen(seen)
	}
	if r := c.Rate(); r.Limit > 0 {
		out.State.Rate = r
	}
	return out, p.err
}

func hasPendingSeen(seen map[string]Seen) bool {
	for _, s := range seen {
		if s.Pending {
			return true
		}
	}
	return false
}

// poll is a poll that is in progress. After an error it asks for nothing more.
type poll struct {
	*Client
	ctx  context.Context
	beat func()
	out  *Polled
	err  error
}

// listChanges returns the issues and pull requests that have changed since the last poll; all: there may be more.
func (p *poll) listChanges() (moved map[string]bool, all bool) {
	s := &p.out.State
	query := url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"desc"}, "per_page": {"100"}, "limit": {"100"}}
	if s.Since != "" {
		query.Set("since", s.Since)
	}
	var list []wireIssue
	now, changed := p.look(s.List, "/issues?"+query.Encode(), func(read func(any) error) (Seen, any, error) {
		err := read(&list)
		return Seen{}, changeTimes(list), err
	})
	if p.err != nil || !changed {
		return nil, false
	}
	moved = map[string]bool{}
	times, latest := changeTimes(list), s.Since
	for name, at := range times {
		moved[name] = s.Changed[name] != at
		latest = max(latest, at)
	}
	s.List, s.Changed = now, times
	if latest != s.Since {
		s.Since, s.List.Tag = latest, "" // another address
	}
	return moved, len(list) >= fullPage
}

func changeTimes(list []wireIssue) map[string]string {
	times := map[string]string{}
	for _, w := range list {
		name := fmt.Sprint(w.Number)
		if w.PullRequest != nil {
			name = "pull " + name
		}
		times[name] = w.UpdatedAt
	}
	return times
}

// listLabeled finds the open issues with the label.
func (p *poll) listLabeled(label string) {
	query := url.Values{"state": {"open"}, "labels": {label}, "per_page": {"100"}, "limit": {"100"}}
	var numbers []int
	now, changed := p.look(p.out.State.Labeled, "/issues?"+query.Encode(), func(read func(any) error) (Seen, any, error) {
		var list []wireIssue
		err := read(&list)
		for _, w := range list {
			if w.PullRequest == nil && slices.Contains(w.issue().Labels, label) { // a server that knows no such label lists all
				numbers = append(numbers, w.Number)
			}
		}
		slices.Sort(numbers)
		return Seen{}, numbers, err
	})
	if p.out.State.Labeled = now; changed {
		p.out.Labeled = numbers
	}
}

// lookWhole looks at all that a ticket waits for.
func (p *poll) lookWhole(w Watched) {
	p.lookAtPull(w, func(l *looked) {
		l.at("issue", issuePath(w.Issue), func(read func(any) error) (Seen, any, error) {
			var w wireIssue
			err := read(&w)
			i := w.issue()
			return Seen{}, []any{i.Title, i.Body, i.Open, i.Locked}, err
		})
		l.at("reviews", pullPath(w.Pull)+"/reviews"+firstPage, func(read func(any) error) (Seen, any, error) {
			var list []wireReview
			err := read(&list)
			var all []Review
			for _, w := range list {
				all = append(all, w.review())
			}
			return Seen{}, all, err
		})
		if w.Votes { // the first hundred comments: of later ones the ticket hears with the next change
			l.at("comments", issuePath(w.Pull)+"/comments"+firstPage, func(read func(any) error) (Seen, any, error) {
				var list []wireComment
				err := read(&list)
				return Seen{}, approvals(list), err
			})
		}
	})
}

// lookAtChecks looks at the pull request of a ticket and its checks.
func (p *poll) lookAtChecks(w Watched) {
	p.lookAtPull(w, func(l *looked) {
		for _, name := range []string{"issue", "reviews", "comments"} {
			if seen, ok := l.before[name]; ok {
				l.now[name] = seen
			}
		}
	})
}

func (p *poll) lookAtPull(w Watched, rest func(*looked)) {
	if p.err != nil {
		return
	}
	before, known := p.out.State.Tickets[w.Ticket]
	l := looked{poll: p, before: before, now: map[string]Seen{}}
	pull := l.at("pull", pullPath(w.Pull), func(read func(any) error) (Seen, any, error) {
		var w wirePull
		err := read(&w)
		pull := p.pullOf(w)
		return Seen{Head: pull.Head}, []any{pull.Head, pull.Open, pull.Merged, pull.Conflicts, pull.Behind}, err
	})
	rest(&l)
	if pull.Head != "" {
		l.at("status "+pull.Head, commitPath(pull.Head, "status")+firstPage, func(read func(any) error) (Seen, any, error) {
			var w wireCombined
			err := read(&w)
			return Seen{Pending: hasPending(w.checks())}, w.checks(), err
		})
	}
	if pull.Head != "" && p.server.Kind == GitHub {
		l.at("check-runs "+pull.Head, commitPath(pull.Head, "check-runs")+firstPage, func(read func(any) error) (Seen, any, error) {
			var w wireRuns
			err := read(&w)
			return Seen{Pending: hasPending(w.checks())}, w.checks(), err
		})
	}
	if said, ok := errors.AsType[*Error](p.err); ok && said.Code == http.StatusNotFound { // the ticket finds out
		p.err, l.now = nil, map[string]Seen{"gone": {}}
	}
	if p.err != nil {
		return
	}
	p.out.State.Tickets[w.Ticket] = l.now
	same := func(a, b Seen) bool { return a.Digest == b.Digest }
	if !known || !maps.EqualFunc(before, l.now, same) {
		p.out.Changed = append(p.out.Changed, w.Ticket)
	}
}

// looked is a look at one ticket.
type looked struct {
	*poll
	before, now map[string]Seen
}

func (l *looked) at(name, path string, decode func(read func(any) error) (s Seen, counts any, err error)) Seen {
	now, _ := l.look(l.before[name], path, decode)
	l.now[name] = now
	return now
}

// look asks for one address. decode reads the answer and returns what of it counts. It returns what is to be seen now, and
// whether it is another than before.
func (p *poll) look(before Seen, path string, decode func(read func(any) error) (s Seen, counts any, err error)) (now Seen, changed bool) {
	if p.err != nil {
		return before, false
	}
	p.beat()
	var body json.RawMessage
	tag, err := p.ask(p.ctx, http.MethodGet, path, before.Tag, nil, &body)
	if errors.Is(err, ErrUnchanged) {
		return before, false
	}
	if p.err = err; err != nil {
		return before, false
	}
	now, counts, err := decode(func(out any) error { return json.Unmarshal(body, out) })
	if err != nil {
		p.err = &Error{Err: err}
		return before, false
	}
	b, err := json.Marshal(counts)
	if err != nil {
		p.err = err
		return before, false
	}
	sum := sha256.Sum256(b)
	now.Tag, now.Digest = tag, hex.EncodeToString(sum[:8])
	return now, now.Digest != before.Digest
}

func hasPending(list []Check) bool {
	return slices.ContainsFunc(list, func(c Check) bool { return c.Result == Waiting })
}
