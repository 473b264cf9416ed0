package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// Open makes the mailbox of a citizen that is about to watch it, with the signal to watch, and returns the
// signal's path and the number of unread bodies. A second call changes nothing.
func (m Mailboxes) Open(ctx context.Context, id dispatch.GardenID) (signal string, unread int, err error) {
	if err := id.Validate(); err != nil {
		return "", 0, err
	}
	b := m.boxOf(id)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return "", 0, err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return "", 0, err
	}
	defer unlock()
	if _, err := os.Lstat(b.signalPath()); errors.Is(err, fs.ErrNotExist) {
		err = b.ringDoorbell(m.now())
		if err != nil {
			return "", 0, err
		}
	}
	names, err := b.unreadBodies()
	return b.signalPath(), len(names), err
}

// Announce is the session's own part of a ring (docs/contracts/dispatch.md, 11): it renames the fresh bodies, and
// returns how many bodies have been announced and not read. Without a fresh one it returns zero, so that each is
// announced once. A second call announces nothing.
func (m Mailboxes) Announce(ctx context.Context, id dispatch.GardenID) (int, error) {
	if err := id.Validate(); err != nil {
		return 0, err
	}
	n, err := m.announceMail(ctx, m.boxOf(id))
	if err != nil {
		return 0, fmt.Errorf("announce the mail of %s: %w", id, err)
	}
	return n, nil
}

func (m Mailboxes) announceMail(ctx context.Context, b box) (int, error) {
	if _, err := os.Lstat(b.dir); err != nil {
		return 0, err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	names, err := file.Names(b.dir)
	if err != nil {
		return 0, err
	}
	fresh := false
	for _, name := range names {
		if !isFresh(name) {
			continue
		}
		fresh = true
		path := filepath.Join(b.dir, name)
		if err := os.Rename(path, filepath.Join(b.dir, announcedName(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	if !fresh {
		return 0, nil
	}
	unread, err := b.unreadBodies()
	return len(unread), err
}
