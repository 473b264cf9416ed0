package child

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// Login is a file of credentials, and the lock by which the sessions of its client take turns at it.
type Login struct {
	File string `json:"file"`
	Lock lock   `json:"lock"`
}

// maxLogins bounds a file of credentials, in bytes. An agent writes its copy.
const maxLogins = 1 << 20

// lending is a box that shows a copy of each file of credentials whose tokens the client renews. The client
// of another session would execute what an agent puts there: a key of pi can be a command, and an entry of
// opencode can name a server of settings. Only renewed tokens are taken back. The copy lies in a directory of the
// box's own, which stands for the one of the file: a client may save by a rename, which a mount of the file would refuse.
type lending struct {
	boxes  *egress.Boxes
	box    *box.Box
	spec   box.Spec
	logins []Login
	log    io.Writer // nil discards it
}

// Enclose implements [proc.Box].
func (l lending) Enclose(argv []string, dir string, env []string) (_ *proc.Enclosure, err error) {
	own, remove, err := makeCopies(l.log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	var loans []*loan
	for i, login := range l.logins {
		lent, err := lendFile(login, filepath.Join(own, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		loans = append(loans, lent)
		l.spec = lent.show(l.spec)
	}
	e, err := l.boxes.For(l.box, l.spec).Enclose(argv, dir, env)
	if err != nil {
		return nil, err
	}
	release, stop := e.Close, watchLoans(loans, l.log)
	e.Close = func() {
		release()
		stop()
		remove()
	}
	return e, nil
}

// copiesPrefix begins the names of the directories of copies.
const copiesPrefix = "ratchet-logins-"

// makeCopies makes a directory for the copies of one box, which has a lock as long as its worker lives. It removes
// those that killed workers have left: nothing else ends the tokens in them. What it cannot take back of them is in the log.
func makeCopies(log io.Writer) (dir string, remove func(), err error) {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), copiesPrefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range found {
		removeStale(path, log)
	}
	if dir, err = os.MkdirTemp("", copiesPrefix); err != nil {
		return "", nil, err
	}
	held, err := os.Open(dir)
	if err == nil {
		err = unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		held.Close()
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, func() { git.RemoveTree(dir); held.Close() }, nil // an agent may have closed a directory in it
}

// newest is the age below which a directory of copies may not have its lock yet.
const newest = time.Minute

// removeStale takes renewed tokens back from a directory of copies that no worker has locked, and removes it. One that
// another user may have written is left alone.
func removeStale(dir string, log io.Writer) {
	held, err := file.Trust{Dir: true, Closed: 0o077}.OpenOwn(dir)
	if err != nil {
		return
	}
	defer held.Close()
	if info, err := held.Stat(); err != nil || time.Since(info.ModTime()) < newest {
		return
	}
	if unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	for _, l := range readLoans(dir) {
		l.tell(log, l.exchange(lastPatience))
	}
	git.RemoveTree(dir)
}

// exchangePoll is how often tokens are taken back. A refresh token is good once: another session that
// renews with the old one is logged out.
const exchangePoll = 100 * time.Millisecond

// watchLoans takes renewed tokens back until stop is called, and then once more. It tells the log once of a file that does
// not take them.
func watchLoans(loans []*loan, log io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(exchangePoll)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				for _, l := range loans {
					l.tell(log, l.exchange(0))
				}
			case <-done:
				for _, l := range loans {
					l.tell(log, l.exchange(lastPatience))
				}
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// loan is a file of credentials and the copy of it in a box. A program in the box may put anything in the place of the
// copy, at any time, and nothing in the place of its directory.
type loan struct {
	Login
	copy            string
	inside, outside []byte // as they were when they last agreed
	told            bool   // the log has an error
}

// tell writes the first error to a log.
func (l *loan) tell(log io.Writer, err error) {
	if err != nil && log != nil && !l.told {
		fmt.Fprintf(log, "%v: log in again if a session is refused\n", err)
		l.told = true
	}
}

// lendFile makes the copy, in a directory that it makes too.
func lendFile(login Login, dir string) (*loan, error) {
	text, err := file.Read(login.File, maxLogins)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	l := &loan{Login: login, copy: filepath.Join(dir, filepath.Base(login.File)), inside: text, outside: text}
	return l, errors.Join(file.Replace(l.copy, text), l.keep())
}

// recordEnd ends the name of a record, which lies beside the directory of the copy: no program in the box reaches it.
const recordEnd = ".json"

// record is what a later worker needs of a loan, if this one is killed.
type record struct {
	Login
	Outside []byte `json:"outside"`
}

// keep writes the record of the loan.
func (l *loan) keep() error {
	text, err := json.Marshal(record{l.Login, l.outside})
	if err != nil {
		return err
	}
	return file.Replace(filepath.Dir(l.copy)+recordEnd, text)
}

// readLoans returns the loans of a worker that was killed. It passes over what is no record.
func readLoans(dir string) (loans []*loan) {
	names, _ := file.Names(dir)
	for _, name := range names {
		own, ok := strings.CutSuffix(name, recordEnd)
		text, err := file.Read(filepath.Join(dir, name), 2*maxLogins) // base64
		var r record
		if !ok || err != nil || json.Unmarshal(text, &r) != nil || !filepath.IsAbs(r.File) {
			continue
		}
		loans = append(loans, &loan{Login: r.Login, copy: filepath.Join(dir, own, filepath.Base(r.File)), outside: r.Outside})
	}
	return loans
}

// show returns a spec that shows the directory of the copy in the place of the file's, which is a private one.
func (l *loan) show(s box.Spec) box.Spec {
	dir := filepath.Dir(l.File)
	s.Private = slices.DeleteFunc(slices.Clone(s.Private), func(path string) bool { return path == dir })
	s.Lent = append(slices.Clip(s.Lent), box.Loan{From: filepath.Dir(l.copy), Dir: dir})
	return s
}

// exchange writes tokens that the box has renewed into the file, and what changed in the file into the copy.
// Where both have renewed them, the file counts. A text that cannot be read is being written. The error is that the file
// does not take the tokens.
func (l *loan) exchange(patience time.Duration) error {
	inside, err := file.Read(l.copy, maxLogins)
	if err != nil {
		return nil
	}
	outside, err := file.Read(l.File, maxLogins)
	if err != nil || bytes.Equal(inside, l.inside) && bytes.Equal(outside, l.outside) {
		return nil
	}
	unlock, ok := l.Lock.await(patience)
	if !ok {
		return nil
	}
	defer unlock()
	if outside, err = file.Read(l.File, maxLogins); err != nil {
		return nil
	}
	merged, back, err := mergeTokens(l.outside, inside, outside)
	if err != nil {
		return nil
	}
	if back {
		if err := writeBack(l.File, merged); err != nil {
			return fmt.Errorf("renewed tokens are not in %s: %w", l.File, err)
		}
	}
	l.inside = inside
	if !bytes.Equal(merged, l.outside) && !bytes.Equal(merged, inside) {
		if file.Replace(l.copy, merged) != nil { // a client never reads a part of it
			return nil
		}
		l.inside = merged
	}
	if !bytes.Equal(merged, l.outside) {
		l.outside = merged
		_ = l.keep() // with an older one, what a killed worker has taken back counts as renewed by another session
	}
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

// lendLogins returns the files of credentials whose tokens the client renews, and has the others fixed.
func (c *Client) lendLogins() (lent []Login) {
	for _, login := range c.Logins {
		if holdsTokens(login.File) {
			lent = append(lent, login)
		} else {
			c.Fixed = append(slices.Clip(c.Fixed), login.File)
		}
	}
	return lent
}

// holdsTokens reports whether a file of credentials has an entry whose tokens are renewed.
func holdsTokens(path string) bool {
	text, err := file.Read(path, maxLogins)
	if err != nil {
		return false
	}
	logins, err := parseLogins(text)
	if err != nil {
		return false
	}
	for name, entry := range logins {
		if readTokens(name, entry) != nil {
			return true
		}
	}
	return false
}
