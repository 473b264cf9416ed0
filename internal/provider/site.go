package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Site is what the caller lends to a provider that looks around by itself or
// has an agent work in files. All of it belongs to one slot: the calls that
// may share an agent's session share a slot, and no two of them run at once.
type Site interface {
	// Slot names the slot, uniquely on this machine.
	Slot() string

	// Files are the files where the run stands, relative to where patches apply,
	// and Read returns at most limit bytes of one, with its size. Both follow no
	// link and see nothing that the checkout holds besides.
	Files(ctx context.Context) ([]string, error)
	Read(ctx context.Context, path string, limit int64) (content []byte, size int64, err error)

	// Checkout is the directory of the slot's disposable checkout, where an agent
	// may change what it likes. It has the files where the run stands; with keep
	// it is left as the last attempt at this call left it. The directory is the
	// same for every call of the slot.
	Checkout(ctx context.Context, keep bool) (dir string, err error)
	// Changes is the diff of what the checkout holds against what it was made
	// from, canonical; empty when nothing was changed.
	Changes(ctx context.Context) ([]byte, error)

	// Note is what SetNote kept last in this slot; nil when nothing was. It
	// outlives the worker.
	Note() ([]byte, error)
	SetNote(note []byte) error

	// Log keeps a line for whoever wants to know what an agent did: what, and its
	// circumstances. It redacts and shortens by itself; a line that cannot be
	// written is lost.
	Log(what string, about map[string]string)
	// Warn is Log for what went wrong: whoever runs the worker is told too.
	Warn(what string, about map[string]string)

	// Hold takes the slot for as long as an agent's process lives in it, also
	// between calls. Wanted is called, and called again, while another worker
	// waits for it: a holder that only waits itself then releases.
	Hold(ctx context.Context, wanted func()) (release func(), err error)
}

// Work is what a call lends and allows to an agent. The zero Work lends
// nothing: a provider that needs more reports a BAD_REQUEST.
type Work struct {
	Site  Site
	Tools run.Tools
	// Permits are the decisions on permissions that this call, or an earlier one
	// of the same session, was suspended for.
	Permits []run.Permit
	// Left is what the run's budgets leave to this call; zero members: no bound.
	Left Left
	// Network lets the agent's tools reach the network.
	Network bool
}

// Left is what budgets leave.
type Left struct {
	Tokens int64      `json:"tokens,omitempty"`
	Cost   run.Micros `json:"costMicros,omitempty"`
}

// Suspended is the error of a call that cannot go on before somebody decides.
// The agent's session waits, or is resumed: the same call with the decision
// among its Permits goes on where this one stopped.
type Suspended struct {
	CallID string
	Tool   string
	Input  json.RawMessage // whole
	Title  string
	Reason string
}

func (s *Suspended) Error() string { return fmt.Sprintf("%s waits for a permission", s.Tool) }

// Digest identifies what is asked for: the tool and its whole input.
func (s *Suspended) Digest() run.Digest {
	return run.DigestOf(append([]byte(s.Tool+"\n"), s.Input...))
}

// Exhausted is the error of a call that was ended because a budget was used
// up. The same call goes on once the budget is raised.
type Exhausted struct{ Usage run.Usage }

func (*Exhausted) Error() string { return "the budget is used up" }

// Limited is the error of a call that a usage limit refused until a stated
// time.
type Limited struct {
	Until time.Time
	Cause *Error
}

func (l *Limited) Error() string {
	return fmt.Sprintf("limited until %s: %v", l.Until.UTC().Format(time.RFC3339), l.Cause)
}

// Unwrap is the failure itself.
func (l *Limited) Unwrap() error { return l.Cause }
