package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// journal is the log of a run's events, locked. Other programs of the same
// user can write to the directory, so nothing there is believed for its name:
// what is no plain file is no log, and a line is an event only when it is read.
type journal struct {
	root *os.Root
	lock *os.File // the directory: it cannot be exchanged as the log can
	file *os.File // nil: what has its name is not a plain file of one name

	odd   bool   // what has the log's name is not a plain file
	b     []byte // all that the log holds
	lines []line // of b, for as long as they are events in order
	seal  seal
}

// line is one line of the log, its line feed included.
type line struct {
	b   []byte
	seq int
}

// lockPatience bounds the wait for the record's lock: whoever holds it for
// longer is none of ours, and the error says so.
const lockPatience = 30 * time.Second

// openJournal locks the record and reads its log.
func (d *Dir) openJournal() (j *journal, err error) {
	root, err := d.open()
	if err != nil {
		return nil, err
	}
	j = &journal{root: root}
	defer func() {
		if err != nil {
			j.close()
		}
	}()
	if j.lock, err = os.Open(d.path); err != nil {
		return nil, err
	}
	if err := flock(j.lock); err != nil {
		return nil, err
	}
	if err := j.openLog(); err != nil {
		return nil, err
	}
	j.lines = linesOf(j.b)
	j.seal = readSeal(root)
	return j, nil
}

func (j *journal) close() {
	for _, f := range []*os.File{j.file, j.lock} {
		if f != nil {
			f.Close() // and with it the lock
		}
	}
	j.root.Close()
}

func flock(f *os.File) error {
	for end := time.Now().Add(lockPatience); ; time.Sleep(lockPoll / 10) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case time.Now().After(end):
			return fmt.Errorf("lock %s: another process has held it for %v", f.Name(), lockPatience)
		}
	}
}

// openLog opens the log and reads it, without following a link and without
// waiting for a pipe. A log of several names is read, but not written to.
func (j *journal) openLog() error {
	fd, err := unix.Openat(int(j.lock.Fd()), eventsFile, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, odd := range []error{unix.ELOOP, unix.EISDIR, unix.ENXIO, unix.EACCES, unix.EPERM, unix.ENODEV} {
		if errors.Is(err, odd) {
			j.odd = true
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", eventsFile, err)
	}
	f := os.NewFile(uintptr(fd), eventsFile)
	info, err := f.Stat()
	if j.odd = err == nil && !info.Mode().IsRegular(); err != nil || j.odd {
		return errors.Join(err, f.Close())
	}
	j.b, err = io.ReadAll(io.LimitReader(f, MaxArtifact))
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return errors.Join(err, f.Close())
	}
	j.file = f
	if err != nil {
		return err
	}
	return flock(f) // which workers of older versions lock
}

// linesOf are the lines up to the first that is no event's, or is out of order.
func linesOf(b []byte) (list []line) {
	last := 0
	for text := range bytes.Lines(b) {
		seq := seqOf(text)
		if seq <= last || text[len(text)-1] != '\n' {
			break
		}
		list = append(list, line{text, seq})
		last = seq
	}
	return list
}

// seqOf is the number of the event in a line as we write them; zero: it is not
// one of those.
func seqOf(text []byte) int {
	rest, ok := bytes.CutPrefix(text, []byte(`{"id":"evt-`))
	digits, _, found := bytes.Cut(rest, []byte(`"`))
	seq, err := strconv.Atoi(string(digits))
	if !ok || !found || err != nil || run.EventID(seq) != "evt-"+string(digits) {
		return 0
	}
	return seq
}

// size is how many bytes the first lines have.
func size(lines []line) (n int) {
	for _, l := range lines {
		n += len(l.b)
	}
	return n
}

// write makes the log hold these lines and no other byte. Lines that are there
// already are not written again, but where the log must be written anew.
func (j *journal) write(lines []line) error {
	have := 0
	for have < len(lines) && have < len(j.lines) && bytes.Equal(lines[have].b, j.lines[have].b) {
		have++
	}
	if j.file == nil || have < len(j.lines) {
		return j.rewrite(lines)
	}
	var more []byte
	for _, l := range lines[have:] {
		more = append(more, l.b...)
	}
	if err := j.append(int64(size(lines[:have])), more); err != nil {
		return fmt.Errorf("append to %s: %w", eventsFile, err)
	}
	j.lines = lines
	return nil
}

func (j *journal) append(end int64, b []byte) error {
	if err := j.file.Truncate(end); err != nil || len(b) == 0 {
		return err
	}
	failpoint.Hit("rundir.before-append")
	half := len(b) / 2
	if _, err := j.file.WriteAt(b[:half], end); err != nil {
		return err
	}
	failpoint.Hit("rundir.half-append")
	if _, err := j.file.WriteAt(b[half:], end+int64(half)); err != nil {
		return err
	}
	failpoint.Hit("rundir.after-append")
	return j.file.Sync()
}

func (j *journal) rewrite(lines []line) error {
	var b []byte
	for _, l := range lines {
		b = append(b, l.b...)
	}
	if err := replace(j.root, eventsFile, b, (*os.File).Sync); err != nil {
		return fmt.Errorf("write %s anew: %w", eventsFile, err)
	}
	j.lines = slices.Clone(lines)
	return nil
}
