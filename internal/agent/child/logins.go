package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/file"
)

// maxLogins bounds a file of credentials, in bytes. An agent writes its copy.
const maxLogins = 1 << 20

// loan is a file of credentials and the copy of it in a home. A program in the box may put anything in the place of the
// copy, at any time, and nothing in the place of its directory. The client of another session would execute what an agent
// puts there: a key of pi can be a command, and an entry of opencode can name a server of settings. So only renewed tokens
// are taken back. They are taken back while the client runs: a refresh token is good once, and until then every other
// session of the login, in a box or not, has one that is used up.
type loan struct {
	file, copy      string
	inside, outside []byte // as they were when they last agreed
	told            bool   // the log has an error
}

// lendFile makes the copy; nil if there is no such file. A link to it is the user's own.
func lendFile(path, copy string) (*loan, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := file.Read(real, maxLogins)
	if err != nil {
		return nil, err
	}
	return &loan{file: real, copy: copy, inside: text, outside: text}, file.Replace(copy, text)
}

// exchangePoll is how often tokens are taken back.
const exchangePoll = 100 * time.Millisecond

// watchLoans takes renewed tokens back until stop is called, and then once more. It logs, if there is a log, once
// of a file that does not take them.
func watchLoans(loans []*loan, log io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(exchangePoll)
		defer ticks.Stop()
		for over := false; !over; {
			select {
			case <-ticks.C:
			case <-done:
				over = true
			}
			for _, l := range loans {
				l.logError(log, l.exchangeTokens())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// logError writes the first error to a log.
func (l *loan) logError(log io.Writer, err error) {
	if err != nil && log != nil && !l.told {
		fmt.Fprintf(log, "%v: log in again if a session is refused\n", err)
		l.told = true
	}
}

// lock lets the boxes of all workers of the user take turns at the file, by its directory. It does not bear on the
// user's own sessions: a file is read, compared and replaced within a millisecond.
func (l *loan) lock() (unlock func(), err error) {
	dir, err := os.Open(filepath.Dir(l.file))
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		dir.Close()
		return nil, err
	}
	return func() { dir.Close() }, nil
}

// exchangeTokens writes tokens that the box has renewed into the file, and what changed in the file into the copy.
// Where both have renewed them, the file counts. A text that cannot be read is being written. The error is that the file
// does not take the tokens.
func (l *loan) exchangeTokens() error {
	inside, err := file.Read(l.copy, maxLogins)
	if err != nil {
		return nil
	}
	outside, err := file.Read(l.file, maxLogins)
	if err != nil || bytes.Equal(inside, l.inside) && bytes.Equal(outside, l.outside) {
		return nil
	}
	unlock, err := l.lock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.file, err)
	}
	defer unlock()
	if outside, err = file.Read(l.file, maxLogins); err != nil {
		return nil
	}
	merged, back, err := mergeTokens(l.outside, inside, outside)
	if err != nil {
		return nil
	}
	if back {
		if err := writeBack(l.file, merged); err != nil {
			return fmt.Errorf("renewed tokens are not in %s: %w", l.file, err)
		}
	}
	l.inside = inside
	if !bytes.Equal(merged, l.outside) && !bytes.Equal(merged, inside) {
		if file.Replace(l.copy, merged) != nil { // a client never reads a part of it
			return nil
		}
		l.inside = merged
	}
	l.outside = merged
	return nil
}

// notReplaced are the errors of a file that cannot be replaced and may still be written: it is a mount, or its directory
// is not to be written.
var notReplaced = []error{unix.EBUSY, unix.EXDEV, unix.EACCES, unix.EPERM, unix.EROFS}

// writeBack writes a file of credentials: whole or not at all where it can be replaced.
func writeBack(path string, text []byte) error {
	err := file.Replace(path, text)
	if slices.ContainsFunc(notReplaced, func(e error) bool { return errors.Is(err, e) }) {
		return file.Overwrite(path, text)
	}
	return err
}
