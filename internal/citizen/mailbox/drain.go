package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// Message is a body that was in the mailbox, under the name that it had.
type Message struct {
	File string `json:"file"`
	Body string `json:"body"`
}

// Drained holds the content of a mailbox.
type Drained struct {
	GardenID dispatch.GardenID `json:"gardenId"`
	Messages []Message         `json:"messages"`
	// ReadAt is the read receipt, which is stamped once the bodies are taken; empty when there are
	// none.
	ReadAt string `json:"readAt,omitempty"`
	// Left is the number of unread bodies beyond the first that one drain holds. They come later in
	// the order, and the next drain returns them.
	Left int `json:"left,omitempty"`
	// Unreadable has an error text for each body that was left in the mailbox because it could not
	// be read.
	Unreadable []string `json:"unreadable,omitempty"`
}

// Drain passes all unread bodies to take, in the order of their names. When there are very many, it
// passes only the first. When take returns without an error, Drain stamps the read receipt and
// archives the bodies. Take is called once, even without bodies, unless an error comes first. Our
// drains read one at a time. A mailbox without unread mail is left unchanged.
//
// Every body is passed on at least once: a body stays unread until a take that got it has returned
// without an error. It is passed on again when take fails, when this process is killed before the
// body is archived, or when another program drains at the same time. The receipt never claims that
// mail was read before it was read.
func (m Mailboxes) Drain(ctx context.Context, id dispatch.GardenID, take func(Drained) error) (Drained, error) {
	if err := id.Validate(); err != nil {
		return Drained{}, err
	}
	store := citizen.Store{Dir: m.Dirs.Sessions}
	if _, err := store.Find(id); err != nil {
		return Drained{}, fmt.Errorf("read the mail: %w", err)
	}
	d, err := m.drainBox(ctx, m.boxOf(id), take)
	if err != nil {
		return d, fmt.Errorf("read the mail of %s: %w", id, err)
	}
	return d, nil
}

func (m Mailboxes) drainBox(ctx context.Context, b box, take func(Drained) error) (Drained, error) {
	nothing := Drained{GardenID: b.id, Messages: []Message{}}
	names, err := b.unreadBodies()
	if err != nil {
		return nothing, err
	}
	if len(names) == 0 {
		return nothing, take(nothing)
	}
	// Take may be slow. Writers do not wait for this lock.
	leave, err := file.Lock(ctx, filepath.Join(b.dir, ".ratchet-drain.lock"))
	if err != nil {
		return nothing, err
	}
	defer leave()
	if _, err := b.readState(); err != nil { // an unreadable state would keep the receipt from being stamped
		return nothing, err
	}
	d, err := b.readAll()
	if err != nil {
		return nothing, err
	}
	now := m.now()
	if len(d.Messages) > 0 {
		d.ReadAt = document.Stamp(now)
	}
	failpoint.Hit("mailbox.before-take")
	if err := take(d); err != nil {
		return d, err
	}
	failpoint.Hit("mailbox.after-take")
	if len(d.Messages) == 0 {
		return d, nil
	}
	return d, b.archiveBodies(ctx, d.Messages, now)
}

// The most that one drain holds in memory; there is always room for one more body.
const (
	mostMessages = 10_000
	mostBytes    = 16 * MaxBody
)

// readAll reads the unread bodies, up to the bounds of one drain, and changes nothing. A body that
// cannot be read stays and hides no other body.
func (b box) readAll() (Drained, error) {
	names, err := b.unreadBodies()
	if err != nil {
		return Drained{}, err
	}
	d := Drained{GardenID: b.id, Messages: []Message{}}
	size := 0
	for i, name := range names {
		if len(d.Messages) == mostMessages || size > mostBytes-MaxBody {
			d.Left = len(names) - i
			break
		}
		msg, err := b.readBody(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another program drains too
		case err != nil:
			d.Unreadable = append(d.Unreadable, err.Error())
		default:
			d.Messages = append(d.Messages, msg)
			size += len(msg.Body)
		}
	}
	return d, nil
}

// readBody reads a body. The doorbell may have renamed it a moment before.
func (b box) readBody(name string) (Message, error) {
	body, err := file.Read(filepath.Join(b.dir, name), MaxBody)
	if errors.Is(err, fs.ErrNotExist) && isFresh(name) {
		name = announcedName(name)
		body, err = file.Read(filepath.Join(b.dir, name), MaxBody)
	}
	return Message{File: name, Body: string(body)}, err
}

// archiveBodies stamps the receipt and then gives the bodies their last names. A process that is killed
// between the two leaves mail that is read again, and no missing receipt.
func (b box) archiveBodies(ctx context.Context, msgs []Message, now time.Time) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	file.Sweep(b.dir)
	if err := b.stampState(LastRead, now); err != nil {
		return err
	}
	failpoint.Hit("mailbox.after-receipt")
	for _, msg := range msgs {
		if err := b.shelveBody(msg.File); err != nil {
			return err
		}
		failpoint.Hit("mailbox.after-archive")
	}
	return nil
}

// shelveBody renames one body. The doorbell may have renamed it meanwhile, or another program may have
// archived it.
func (b box) shelveBody(name string) error {
	err := b.renameBody(name)
	if errors.Is(err, fs.ErrNotExist) && isFresh(name) {
		err = b.renameBody(announcedName(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b box) renameBody(name string) error {
	path := filepath.Join(b.dir, name)
	return os.Rename(path, path+readEnd)
}
