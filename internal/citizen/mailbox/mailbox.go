// Package mailbox is the mail of citizens that fetch it themselves (docs/contracts/dispatch.md, 11
// and 12). A mailbox has bodies in files, a signal that wakes the session, and a state that says
// when mail last came and was last read.
//
// The name of a body shows its history: .msg is fresh, .msg.delivered was announced by the
// doorbell, and a further .read was handed out. Between our processes four things are certain that
// other programs do not guarantee: bodies are put in place whole, they sort in the order in which
// they came, each is handed out to one reader, and no stamp of the state is lost. With programs
// that do not lock, a body may be handed out twice, but is never lost.
package mailbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// MaxBody bounds a body, written by us or by others. A larger body is not read.
const MaxBody = 4 << 20

// Mailboxes holds the mailboxes of all citizens. A nil Now means the system's clock.
type Mailboxes struct {
	Dirs citizen.Dirs
	Now  func() time.Time

	at func(step string) // called at every step; a test acts there as other programs may
}

// Mail is a message to put into a mailbox.
type Mail struct {
	To dispatch.GardenID
	// ID makes a repeated Enqueue the same mail: as long as a body with it is there, read or not,
	// no second body is written. If it is empty, every call writes a body.
	ID   string
	Body string
}

// Enqueued holds the places that a mail was written to.
type Enqueued struct {
	Record  string `json:"recordPath"`
	Message string `json:"messagePath"` // under its present name
	Signal  string `json:"signalPath"`
	State   string `json:"statePath"`
	// Again reports that an earlier call had put the mail there.
	Again bool `json:"again,omitempty"`
}

// Enqueue puts a mail into the mailbox of a citizen that has a record, stamps the state, and rings
// the doorbell last, which guarantees that the woken session finds the body. It does not check
// whether the mail will be read: see Deliverability.
//
// After an error the mail may be in the mailbox. A second call with the same id finds it there and
// does the rest: as long as the body is fresh, it stamps and rings again.
func (m Mailboxes) Enqueue(ctx context.Context, l Mail) (Enqueued, error) {
	fail := func(err error) (Enqueued, error) { return Enqueued{}, fmt.Errorf("mail to %s: %w", l.To, err) }
	if err := l.validate(); err != nil {
		return fail(err)
	}
	store := citizen.Store{Dir: m.Dirs.Sessions}
	if _, err := store.Find(l.To); err != nil {
		return fail(err)
	}
	b := m.boxOf(l.To)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fail(err)
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	file.Sweep(b.dir)
	if _, err := b.readState(); err != nil { // an unreadable state would leave a body unannounced
		return fail(err)
	}
	name, again, err := b.putBody(l, m.now())
	if err != nil {
		return fail(err)
	}
	if !again || isFresh(name) {
		if err := b.announceMail(m.now()); err != nil {
			return fail(err)
		}
	}
	return Enqueued{
		Record: store.Path(l.To), Message: filepath.Join(b.dir, name), Signal: b.signalPath(), State: b.statePath(), Again: again,
	}, nil
}

func (l Mail) validate() error {
	switch {
	case l.Body == "":
		return errors.New("an empty body")
	case len(l.Body) > MaxBody:
		return fmt.Errorf("a body of more than %d bytes", MaxBody)
	case !utf8.ValidString(l.Body):
		return errors.New("a body that is not UTF-8")
	}
	return l.To.Validate()
}

// State reads the state of a mailbox. An absent state is empty, and is not created.
func (m Mailboxes) State(id dispatch.GardenID) (State, error) {
	if err := id.Validate(); err != nil {
		return State{}, err
	}
	return m.boxOf(id).readState()
}

func (m Mailboxes) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

func (m Mailboxes) boxOf(id dispatch.GardenID) box {
	return box{id: id, dir: m.Dirs.Mailbox(id), at: m.at}
}

// box is one mailbox.
type box struct {
	id  dispatch.GardenID
	dir string
	at  func(step string)
}

func (b box) step(name string) {
	if b.at != nil {
		b.at(name)
	}
}

func (b box) signalPath() string { return filepath.Join(b.dir, "inbox.signal") }

// lock keeps our other processes from changing the mailbox. The file is ours;
// other programs neither lock nor look at it.
func (b box) lock(ctx context.Context) (unlock func(), err error) {
	return file.Lock(ctx, filepath.Join(b.dir, ".ratchet.lock"))
}

// putBody writes the body unless one with the mail's id is there.
func (b box) putBody(l Mail, now time.Time) (name string, again bool, err error) {
	name, found, err := b.placeFor(l, now)
	if err != nil || found {
		return name, found, err
	}
	failpoint.Hit("mailbox.before-body")
	if err := file.Replace(filepath.Join(b.dir, name), []byte(l.Body)); err != nil {
		return "", false, err
	}
	failpoint.Hit("mailbox.after-body")
	return name, false, file.SyncDir(b.dir)
}

// announceMail stamps the state and rings.
func (b box) announceMail(now time.Time) error {
	if err := b.stampState(LastEnqueued, now); err != nil {
		return err
	}
	failpoint.Hit("mailbox.before-signal")
	return b.ringDoorbell(now)
}

// ringDoorbell writes the signal in place, because a watcher may watch the file and not its name.
func (b box) ringDoorbell(now time.Time) error {
	return file.Overwrite(b.signalPath(), []byte(document.Stamp(now)+"\n"))
}
