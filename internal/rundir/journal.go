package rundir

import (
	"bytes"
	"context"
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
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// journal is the locked log of a run's events. Other programs of the same user can
// write to the directory, and a name alone proves nothing there. Only a plain file is
// a log, and a line is an event only if it can be read as one.
type journal struct {
	root *os.Root
	lock *os.File // the directory: unlike the log it cannot be exchanged
	file *os.File // nil: the log is missing, or is not a plain file with a single name

	odd   bool   // the object with the log's name is not a plain file
	anew  bool   // the log was written again, under a name that may not be on disk
	b     []byte // the whole content of the log
	lines []line // the first lines of b, up to the last that is an event in order

	seal     seal
	sealFile *os.File // nil: the seal is missing, or only a new file can take its place
	sealSize int      // bytes of sealFile
}

// line is one line of the log, its line feed included.
type line struct {
	b   []byte
	seq int
}

// lockPatience bounds the wait for the record's lock. No worker holds the lock for
// longer; the error says that another process has held it.
const lockPatience = 30 * time.Second

// openJournal locks the record and reads its log.
func (d *Dir) openJournal() (j *journal, err error) {
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	j = &journal{root: root}
	defer func() {
		if err != nil {
			j.closeFiles()
		}
	}()
	if j.lock, err = root.Open("."); err != nil {
		return nil, err
	}
	if err := lockFile(j.lock); err != nil {
		return nil, err
	}
	if err := j.openLog(); err != nil {
		return nil, err
	}
	j.lines = linesOf(j.b)
	j.readSeal()
	return j, nil
}

func (j *journal) closeFiles() {
	for _, f := range []*os.File{j.file, j.sealFile, j.lock} {
		if f != nil {
			f.Close() // releases the lock too
		}
	}
	j.root.Close()
}

func lockFile(f *os.File) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockPatience, fmt.Errorf("another process has held it for %v", lockPatience))
	defer cancel()
	return file.WaitLock(ctx, f, unix.LOCK_EX)
}

// openLog opens the log and reads it. A log with several names is read, but not
// written to.
func (j *journal) openLog() error {
	f, single, err := j.openPlain(eventsFile)
	j.odd = errors.Is(err, file.ErrIrregular)
	if j.odd || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	j.b, err = io.ReadAll(io.LimitReader(f, MaxArtifact))
	if !single {
		return errors.Join(err, f.Close())
	}
	j.file = f
	return err
}

// openPlain opens a plain file beside the log to be read and written, and says whether
// the file has a single name. It follows no link and does not wait for a pipe. The
// error is file.ErrIrregular if another object has the name.
func (j *journal) openPlain(name string) (f *os.File, single bool, err error) {
	fd, err := unix.Openat(int(j.lock.Fd()), name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	for _, odd := range []error{unix.ELOOP, unix.EISDIR, unix.ENXIO, unix.EACCES, unix.EPERM, unix.ENODEV} {
		if errors.Is(err, odd) {
			err = file.ErrIrregular
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("open %s: %w", name, err)
	}
	f = os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", name, file.ErrIrregular)
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return f, !ok || stat.Nlink == 1, nil
}

// linesOf returns the lines before the first one that is not an event or is out of
// order.
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

// seqOf returns the number of the event in a line of the form that this program
// writes; zero for any other line.
func seqOf(text []byte) int {
	rest, ok := bytes.CutPrefix(text, []byte(`{"id":"evt-`))
	digits, _, found := bytes.Cut(rest, []byte(`"`))
	seq, err := strconv.Atoi(string(digits))
	if !ok || !found || err != nil || run.EventID(seq) != "evt-"+string(digits) {
		return 0
	}
	return seq
}

// sizeOf returns the total number of bytes of the lines.
func sizeOf(lines []line) (n int) {
	for _, l := range lines {
		n += len(l.b)
	}
	return n
}

// writeLines makes the log hold these lines and no other byte. It does not rewrite lines
// that are there already, except when the whole log must be written again.
func (j *journal) writeLines(lines []line) error {
	have := 0
	for have < len(lines) && have < len(j.lines) && bytes.Equal(lines[have].b, j.lines[have].b) {
		have++
	}
	if j.file == nil || have < len(j.lines) {
		return j.rewriteLines(lines)
	}
	var more []byte
	for _, l := range lines[have:] {
		more = append(more, l.b...)
	}
	if err := j.appendBytes(int64(sizeOf(lines[:have])), more); err != nil {
		return fmt.Errorf("append to %s: %w", eventsFile, err)
	}
	j.lines = lines
	return nil
}

func (j *journal) appendBytes(end int64, b []byte) error {
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
	return nil
}

// syncAndSeal puts the log on disk and then replaces the seal, unless the seal stays as it is and is the one that this
// process has synced. A seal that is read may be in memory alone: its process was killed, or the disk failed. It is
// written again, because after a failure the kernel takes the bytes for written. Lines that an earlier attempt wrote
// may not be on disk if no seal covers them.
func (j *journal) syncAndSeal(next, synced seal) error {
	if next.isSame(j.seal) && next.isSame(synced) {
		return nil
	}
	if err := j.syncLog(synced.Lines > 0); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	failpoint.Hit("rundir.before-seal")
	if err := j.writeSeal(next); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	failpoint.Hit("rundir.after-seal")
	return nil
}

// syncLog puts the log on disk. Of one that was written again, the lines are there already. Names of files that another
// process has written may be in memory alone; named says that this process has synced them.
func (j *journal) syncLog(named bool) error {
	if j.file != nil && !j.anew {
		if err := j.file.Sync(); err != nil {
			return err
		}
	}
	if named && !j.anew {
		return nil
	}
	return j.syncNames()
}

// syncNames puts the names of the files on disk, where the file system can be asked to.
func (j *journal) syncNames() error {
	err := j.lock.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

func (j *journal) rewriteLines(lines []line) error {
	var b []byte
	for _, l := range lines {
		b = append(b, l.b...)
	}
	if err := replaceSynced(j.root, eventsFile, b); err != nil {
		return fmt.Errorf("rewrite %s: %w", eventsFile, err)
	}
	j.lines, j.anew = slices.Clone(lines), true
	return nil
}
