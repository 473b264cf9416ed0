package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/file"
)

var _ agent.Prober = (*adapter)(nil)

// Running implements agent.Prober by the lock that a client holds on each thread
// that it writes (CLIENT.md, 1, point 7). The lock is a file of its
// own in $CODEX_HOME/thread-writer-locks, seen with 0.169.0. Running takes it for
// a moment, shared; a client that opens the thread in that moment is refused.
func (a *adapter) Running(id string) (bool, error) {
	if uuid.Validate(id) != nil {
		return false, fmt.Errorf("%w: invalid thread id %q", agent.ErrNoSession, id)
	}
	const locks = "thread-writer-locks"
	home := child.HomeOf(child.ParseEnviron(a.clientEnviron(nil)), "CODEX_HOME", ".codex")
	root, err := os.OpenRoot(home)
	if err == nil {
		defer root.Close()
		_, err = root.Stat(locks)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("no Codex in %s: %w", filepath.Join(home, locks), agent.ErrNoList)
	}
	if err != nil {
		return false, err
	}
	// The agent can write there: a pipe or a link out of the directory is no lock.
	f, err := file.OpenIn(root, filepath.Join(locks, id+".lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // releases the lock
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
