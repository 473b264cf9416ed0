// Package ticket decides what becomes of an issue that Ratchet works on: when the next run starts, when a person is asked,
// and when it is over. It holds no word of the people who write on the server.
package ticket

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Step is what a ticket does.
type Step string

// The steps.
const (
	Beginning Step = ""         // it reads the issue
	Starting  Step = "starting" // the next run
	Running   Step = "running"
	Merging   Step = "merging" // the base branch into the ticket's
	Opening   Step = "opening" // or updating the pull request
	Waiting   Step = "waiting" // for checks and people
	Over      Step = "over"
)

// End is how a ticket ended.
type End string

// The ends.
const (
	Merged        End = "merged"
	Closed        End = "closed"
	Unchanged     End = "unchanged" // the run had nothing to change
	OutOfRounds   End = "out-of-rounds"
	OutOfMoney    End = "out-of-money"
	OutOfPatience End = "out-of-patience"
	Stopped       End = "stopped"
)

// Bounds are the bounds of a ticket.
type Bounds struct {
	Rounds   int           `json:"rounds"` // most runs after the first
	Cost     run.Micros    `json:"cost,omitempty"`
	Patience time.Duration `json:"patience"` // of one wait for checks and people
	// Quiet is the time without a change before a run starts on reviews, because people write several comments; zero
	// means a minute.
	Quiet time.Duration `json:"quiet,omitempty"`
	// Reviews is the number of people who have to approve the last commit on the server before its status says success.
	Reviews int `json:"reviews,omitempty"`
}

// Question is what a person is asked.
type Question struct {
	// Key names the cause of the question. Each cause is asked about once.
	Key  string `json:"key"`
	Text string `json:"text"`
}

// State is the state of a ticket.
type State struct {
	Step   Step       `json:"step"`
	Title  string     `json:"title"`  // of the issue
	Digest run.Digest `json:"digest"` // of title and body, as they were when the ticket began

	Run    run.ID     `json:"runId,omitempty"` // the last
	Name   run.Name   `json:"name,omitempty"`
	Runs   int        `json:"runs"`   // of the ticket ever
	Rounds int        `json:"rounds"` // runs after the first, since the start or the last retry
	Spent  run.Micros `json:"spent"`

	Pull   int        `json:"pull,omitempty"`
	URL    string     `json:"url,omitempty"`
	Branch string     `json:"branch,omitempty"` // of the server
	Head   run.Commit `json:"head,omitempty"`   // that was pushed
	Since  time.Time  `json:"since,omitzero"`   // of the wait for checks and people

	Checks    string    `json:"checks,omitempty"`    // their results, in one line
	Approvers []string  `json:"approvers,omitempty"` // accounts that have approved the head
	Question  *Question `json:"question,omitempty"`
	Answered  []string  `json:"answered,omitempty"`  // keys of questions
	Delivered []string  `json:"delivered,omitempty"` // keys of feedback that a run has got
	Note      string    `json:"note,omitempty"`      // of a person, for the next run
	Marked    []string  `json:"marked,omitempty"`    // approvers that the status of the head names

	Round     bool       `json:"round,omitempty"`     // a run follows the merge of the base
	Start     run.Commit `json:"start,omitempty"`     // where the next run begins; empty: at the last commit
	Conflicts []string   `json:"conflicts,omitempty"` // files in which Start has the marks of conflicts
	Merged    string     `json:"merged,omitempty"`    // the base branch, if Head is its merge into the commits of the last run
	Blocked   *Question  `json:"blocked,omitempty"`   // why the base cannot be merged into a head
	Notified  string     `json:"notified,omitempty"`  // key of the last question, or the end, that a notice was sent for
	Notices   int        `json:"notices,omitempty"`   // that were sent
	// Silent is why the comment on the issue could not be written; empty: it was.
	Silent string `json:"silent,omitempty"`

	End    End    `json:"end,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Look is what the server says of a pull request and its issue.
type Look struct {
	Open, Merged bool
	Head         run.Commit // of the branch on the server
	Conflicts    bool       // with the base branch
	Behind       bool       // the base branch has to be merged first
	IssueOpen    bool
	IssueLocked  bool
	Digest       run.Digest // of the issue as it is
	Passed       int        // checks
	Pending      []string
	Failed       []string
	Held         []string
	Feedback     []string // keys of what a run has to see: failed checks, reviews and comments
	Approvers    []string
}

// Verdict is what follows of a look.
type Verdict struct {
	Fix      bool // start the next run, unless something changes until the time of Again has passed
	Merge    bool // merge the base branch
	Question *Question
	End      End
	Reason   string
	Again    time.Duration // wait for at most that long; zero: for a change
}

// checksDue is the time after which a head without a check is asked about.
const checksDue = 10 * time.Minute

// Decide says what follows of a look at now.
func (s *State) Decide(l Look, b Bounds, now time.Time) Verdict {
	switch {
	case l.Merged:
		return Verdict{End: Merged}
	case !l.Open:
		return Verdict{End: Closed, Reason: "the pull request was closed"}
	case !l.IssueOpen:
		return Verdict{End: Closed, Reason: "the issue was closed"}
	}
	if q := s.question(l, now); q != nil {
		return Verdict{Question: q}
	}
	none := l.Passed+len(l.Pending)+len(l.Failed)+len(l.Held) == 0
	switch {
	case none && now.Sub(s.Since) < checksDue:
		return Verdict{Again: checksDue - now.Sub(s.Since)}
	case l.Head != s.Head:
		return Verdict{}
	case l.Conflicts && !s.needsNoMerge(ConflictKey(l.Head)):
		return Verdict{Merge: true}
	case len(l.Pending) > 0:
		return Verdict{}
	case len(s.undelivered(l)) == 0:
		return Verdict{Merge: l.Behind && !s.needsNoMerge(ConflictKey(l.Head))}
	case s.Rounds >= b.Rounds:
		return Verdict{End: OutOfRounds, Reason: fmt.Sprintf("checks or reviewers want changes after %d rounds", s.Rounds)}
	case b.Cost > 0 && s.Spent >= b.Cost:
		return Verdict{End: OutOfMoney, Reason: "the runs have used up the budget of the ticket"}
	}
	return Verdict{Fix: true, Again: cmp.Or(b.Quiet, time.Minute)}
}

// ConflictKey returns the key of the question about a conflict of a head with the base branch.
func ConflictKey(head run.Commit) string { return "conflict:" + string(head) }

// needsNoMerge reports whether the base need not be merged into the head that the key names.
func (s *State) needsNoMerge(key string) bool {
	return slices.Contains(s.Answered, key) || s.Blocked != nil && s.Blocked.Key == key
}

// Exhausted says which bound forbids another run; empty: none.
func (s *State) Exhausted(b Bounds) string {
	switch {
	case s.Rounds >= b.Rounds:
		return fmt.Sprintf("%d rounds are used up", s.Rounds)
	case b.Cost > 0 && s.Spent >= b.Cost:
		return "the budget of the ticket is used up"
	}
	return ""
}

// undelivered returns the keys of what no run has got.
func (s *State) undelivered(l Look) (keys []string) {
	for _, key := range l.Feedback {
		if !slices.Contains(s.Delivered, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// question returns the first question of a look that no person has answered; nil: none.
func (s *State) question(l Look, now time.Time) *Question {
	none := l.Passed+len(l.Pending)+len(l.Failed)+len(l.Held) == 0
	for _, q := range []struct {
		when      bool
		key, text string
	}{
		{l.Head != s.Head, "head:" + string(l.Head), fmt.Sprintf("branch %s has commits that are not this ticket's (it stands at %.12s): they stay, and no further run is pushed to it; finish and merge the pull request by hand, or reset the branch to %.12s", s.Branch, l.Head, s.Head)},
		{(l.Conflicts || l.Behind) && s.Blocked != nil && s.Blocked.Key == ConflictKey(l.Head), ConflictKey(l.Head), s.blocked()},
		{l.Digest != s.Digest, "issue:" + string(l.Digest), "the issue was edited after the ticket began: the new text is not read; answer continue to keep to the old text, or stop and retry to read the new one"},
		{l.IssueLocked, "locked", "the issue is locked: unlock it, or answer continue if it may stay locked"},
		{len(l.Held) > 0, "held:" + string(l.Head), "a check waits for a person, or could not begin: " + strings.Join(l.Held, ", ") + "; let it run on the page of the pull request"},
		{none && now.Sub(s.Since) >= checksDue && len(s.undelivered(l)) == 0, "no-checks", "no check has reported on the pull request: start one, or answer continue to wait for people alone"},
	} {
		if q.when && !slices.Contains(s.Answered, q.key) {
			return &Question{q.key, q.text}
		}
	}
	return nil
}

func (s *State) blocked() string {
	if s.Blocked == nil {
		return ""
	}
	return s.Blocked.Text
}

// Notes keeps what a look says for people.
func (s *State) Notes(l Look) {
	s.Approvers, s.Checks = l.Approvers, ""
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{len(l.Pending), "running"}, {len(l.Failed), "failed"}, {len(l.Held), "waiting for a person"}, {l.Passed, "passed"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	s.Checks = strings.Join(parts, ", ")
}

// Retried returns the state with which a ticket that is over begins again: where it stood, with rounds and patience again.
func (s State) Retried() State {
	s.Step, s.End, s.Reason, s.Question, s.Rounds, s.Answered, s.Delivered = Beginning, "", "", nil, 0, nil, nil
	s.Blocked, s.Round = nil, false
	return s
}
