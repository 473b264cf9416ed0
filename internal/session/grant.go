package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Grant lets the agent of a session start runs, and look at those that it has started. A person gives it when the
// session starts. The agent chooses a goal; the grant holds everything else (docs/sessions.md).
type Grant struct {
	// Run is the input of each such run without its id, name, branch, goal, base commit and session.
	Run run.Input `json:"run"`
	// Branch is the template of the branches; empty means run.DefaultBranch.
	Branch string `json:"branch,omitempty"`
	// Total bounds the runs that the session may ever start, AtOnce those that are not over.
	Total  int `json:"total"`
	AtOnce int `json:"atOnce"`
	// By is the local user who gave the grant, for lists.
	By string `json:"by,omitempty"`
}

// The bounds of a grant that names none, and the largest that one may name.
const (
	DefaultTotal  = 10
	DefaultAtOnce = 2
	maxTotal      = 100
)

// Input returns the input of a run. It has no name and no branch yet.
func (g Grant) Input(session ID, id run.ID, goal string, base run.Commit) run.Input {
	in := g.Run
	in.RunID, in.Goal, in.Repository.Base = id, goal, base
	in.Session, in.Tell = string(session), string(session)
	return in
}

// Tighten makes a person decide about each patch and tool of a run that an agent starts, in the box, whatever was chosen
// for it, and keeps what its checks build from later runs. A choice that lets less happen stays.
func Tighten(in run.Input) run.Input {
	in.Policy, in.Sandbox, in.Network, in.CacheReadOnly = run.Always, run.SandboxRequired, false, true
	if in.Tools != run.DenyTools {
		in.Tools = run.AskTools
	}
	in.Options.Tools = nil // each would need no permission
	if !slices.Contains(setup.NarrowModes, in.Options.Mode) {
		in.Options.Mode = ""
	}
	return in
}

// check returns an error if no run of the session can begin with the grant.
func (g *Grant) check(session Input) error {
	if g == nil {
		return nil
	}
	if g.Run.Repository.Path != session.Repository.Path || g.Run.Repository.Prefix != session.Repository.Prefix {
		return errors.New("the runs of a session must use the session's repository")
	}
	if g.Total < 1 || g.Total > maxTotal || g.AtOnce < 1 || g.AtOnce > g.Total {
		return fmt.Errorf("the limits of the session's runs are %d at once and %d in all: want 1 to %d", g.AtOnce, g.Total, maxTotal)
	}
	if err := g.Input(session.ID, "a-run", "a goal", session.Repository.Base).Validate(); err != nil {
		return fmt.Errorf("the runs of the session: %w", err)
	}
	return nil
}

// maxKey bounds the key of a run in bytes.
const maxKey = 64

// RunWish is the run that an agent asks for.
type RunWish struct {
	Goal string
	// Key names the run in its session: a later wish with the key is for the same run. Without a key the same goal in the
	// turn of the same message is.
	Key string
}

// Check refuses a goal that is empty, too long, or that holds a character that a terminal obeys or that deceives a
// reader, and a key that is no word.
func (w RunWish) Check() error {
	switch {
	case strings.TrimSpace(w.Goal) == "":
		return errors.New("the goal is empty: write what to change")
	case len(w.Goal) > run.MaxGoalBytes:
		return fmt.Errorf("the goal has %d bytes, at most %d fit: shorten it, or name a file of the repository's last commit", len(w.Goal), run.MaxGoalBytes)
	case len(w.Key) > maxKey || strings.ContainsFunc(w.Key, isNoKey):
		return fmt.Errorf("the key %+.80q: want at most %d letters, digits, '.', '_' and '-'", w.Key, maxKey)
	}
	for _, r := range w.Goal {
		if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar || display.IsDeceptive(r)) {
			return fmt.Errorf("the goal holds the character %+q, which is not printable: write plain text", r)
		}
	}
	return nil
}

func isNoKey(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
}

// RunID returns the id of the run that the wish is for. Message is the message in whose turn the agent asks.
func (w RunWish) RunID(session ID, message string) run.ID {
	what := []string{string(session), "key", w.Key}
	if w.Key == "" {
		what = []string{string(session), "turn", message, w.Goal}
	}
	return run.ID(uuid.NewHash(sha256.New(), runSpace, fmt.Appendf(nil, "%q", what), 8).String())
}

// runSpace is the name space of the ids of RunID.
var runSpace = uuid.MustParse("6f1c2b0e-6f0b-4c38-9d2a-6a1d2a2f5c11")
