package provider

import (
	"cmp"
	"context"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Site gives a provider access to the run's files, for a provider that explores them itself or
// has an agent work in them. All of it belongs to one slot: the calls that
// may share an agent's session share a slot, and no two of them run at once.
type Site interface {
	// Slot names the slot, uniquely on this machine.
	Slot() string

	// Files returns the files at the run's current commit, relative to the directory where patches apply.
	// Read returns at most limit bytes of one file, with its size. Both follow no
	// link and ignore everything else in the checkout.
	Files(ctx context.Context) ([]string, error)
	Read(ctx context.Context, path string, limit int64) (content []byte, size int64, err error)

	// Checkout returns the directory of the slot's disposable checkout, where an agent
	// may change any file. It has the files at the run's current commit; with keep
	// it keeps the state after the last attempt at this call. The directory is the
	// same for every call of the slot.
	Checkout(ctx context.Context, keep bool) (Checkout, error)
	// Changes returns the canonical diff from the commit of the checkout to its current
	// content; empty when nothing was changed.
	Changes(ctx context.Context) ([]byte, error)

	// Note returns the last note that SetNote kept in this slot; nil when there is none. It
	// outlives the worker.
	Note() ([]byte, error)
	SetNote(note []byte) error

	// Log keeps a line about an action of an agent: what names the action, about its
	// circumstances. It redacts and shortens by itself; a line that cannot be
	// written is lost.
	Log(what string, about map[string]string)
	// Warn is Log for a failure, which it also reports to the operator of the worker.
	Warn(what string, about map[string]string)

	// Hold locks the slot for as long as an agent's process lives in it, also
	// between calls. It calls wanted again and again while another worker
	// waits for the slot; a holder that is itself only waiting then releases it.
	Hold(ctx context.Context, wanted func()) (release func(), err error)
}

// Checkout is a disposable checkout.
type Checkout struct {
	Dir string // where the agent works
	Top string // the top of the checkout, which is Dir or above it; empty means Dir
	// Objects are directories outside of the checkout that git reads there.
	Objects []string
	// Kit is what the agent's programs need to build and to test. Release must be called once the agent has ended, if it
	// is not nil: until then others do not change what the kit shows.
	Kit     agent.Kit
	Release func()
}

// Work holds the resources and permissions that a call gives to an agent. The zero Work gives
// none: a provider that needs more reports a BAD_REQUEST.
type Work struct {
	Site  Site
	Tools run.Tools
	// Permits are the decisions on permissions that this call, or an earlier one
	// of the same session, was suspended for.
	Permits []run.Permit
	// Left is the rest of the run's budgets.
	Left Left
	// Network lets the agent's tools reach the network.
	Network bool
	// Name and Goal say for others what the work is: the run's short name, if it has one, and the first line
	// of its goal.
	Name, Goal string
	// Options are the agent's options, as far as they hold for the role.
	Options setup.Options
	// Notes returns a channel of the notes that no prompt carries yet: all of them, in their order, when it is called
	// and whenever there are more. It gives nothing once ctx has ended, and is never closed. Nil: no note comes while
	// the call lasts.
	Notes func(ctx context.Context) <-chan []run.Note
}

// Left is the rest of the budgets. A zero member is no bound, and a negative one leaves nothing.
type Left struct {
	Tokens int64      `json:"tokens,omitempty"`
	Cost   run.Micros `json:"costMicros,omitempty"`
}

// After returns the rest once so much more was used.
func (l Left) After(used run.Usage) Left {
	if l.Tokens > 0 {
		l.Tokens = cmp.Or(l.Tokens-used.TotalTokens, -1)
	}
	if l.Cost > 0 {
		l.Cost = cmp.Or(l.Cost-used.Cost, -1)
	}
	return l
}

// IsUsedUp reports whether so much usage leaves nothing of a budget.
func (l Left) IsUsedUp(used run.Usage) bool {
	return l.Tokens != 0 && used.TotalTokens >= l.Tokens || l.Cost != 0 && used.Cost >= l.Cost
}
