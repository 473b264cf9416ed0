package file_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("plain"), []byte("12345"), 0o600))
	must(t, os.Symlink(at("plain"), at("link")))
	must(t, os.Symlink(at("none"), at("dangling")))
	must(t, unix.Mkfifo(at("fifo"), 0o600))
	must(t, os.Mkdir(at("dir"), 0o700))
	l, err := net.Listen("unix", at("sock"))
	must(t, err)
	defer l.Close()
	rows := []struct {
		name string
		most int64
		want error // nil: it is read
	}{
		{"plain", 5, nil},
		{"plain", 4, file.ErrTooLarge},
		{"none", 5, fs.ErrNotExist},
		{"link", 5, file.ErrIrregular},
		{"dangling", 5, file.ErrIrregular},
		{"fifo", 5, file.ErrIrregular},
		{"dir", 5, file.ErrIrregular},
		{"sock", 5, file.ErrIrregular},
		{"plain/below", 5, unix.ENOTDIR},
	}
	for _, row := range rows {
		b, err := file.Read(at(row.name), row.most)
		if !errors.Is(err, row.want) || row.want == nil && string(b) != "12345" {
			t.Errorf("%s: %q, %v; want %v", row.name, b, err, row.want)
		}
	}
}

func TestOpenIn(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.Mkdir(at("dir"), 0o700))
	must(t, os.WriteFile(at("dir/plain"), []byte("12345"), 0o600))
	must(t, os.WriteFile(filepath.Join(out, "plain"), []byte("12345"), 0o600))
	must(t, os.Symlink("plain", at("dir/link")))
	must(t, os.Symlink("dir", at("inside")))
	must(t, os.Symlink(out, at("outside")))
	must(t, os.Symlink(filepath.Join(out, "plain"), at("far")))
	must(t, os.Symlink("/dev/zero", at("device")))
	must(t, unix.Mkfifo(at("fifo"), 0o600))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for name, opens := range map[string]bool{
		"dir/plain": true, "dir/link": true, "inside/plain": true,
		"outside/plain": false, "far": false, "device": false, "fifo": false, "fifo/plain": false, "dir": false, "none": false,
	} {
		f, err := file.OpenIn(root, name)
		if err == nil {
			f.Close()
		}
		if (err == nil) != opens {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSweep(t *testing.T) {
	const hour = time.Hour
	rows := []struct {
		name  string
		age   time.Duration
		swept bool
	}{
		{"x.json.tmp-123-ABCDEFGH", 2 * hour, true},
		{"2026-06-12T12-00-00-000Z-ffffff.msg.tmp-1-A2345672", 2 * hour, true},
		{"x.json.tmp-1-ABCDEFG7", hour / 2, false},
		{"x.json.tmp-9999999-ABCDEFGH", 2 * time.Minute, true}, // no process has this id
		{"x.json.tmp-9999999-ABCDEFG7", time.Second, false},
		{"x.json.tmp-123-ABCDEFG6", -2 * hour, false},
		{"x.json.tmp-123-abcdefgh", 2 * hour, false}, // another program's
		{"x.json.tmp-123-ABCDEFGHI", 2 * hour, false},
		{"x.json.tmp-ABCDEFGH", 2 * hour, false},
		{".tmp-123-ABCDEFGH", 2 * hour, false},
		{"x.json.tmp-123-ABCDEFGH.msg", 2 * hour, false},
		{"x.json", 2 * hour, false},
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, row := range rows {
		must(t, os.WriteFile(at(row.name), nil, 0o600))
		must(t, os.Chtimes(at(row.name), time.Time{}, time.Now().Add(-row.age)))
	}
	must(t, os.Mkdir(at("dir.tmp-1-ABCDEFGH"), 0o700))
	must(t, os.Chtimes(at("dir.tmp-1-ABCDEFGH"), time.Time{}, time.Now().Add(-2*hour)))
	file.Sweep(dir)
	file.Sweep(at("none"))
	for _, row := range rows {
		if _, err := os.Lstat(at(row.name)); errors.Is(err, fs.ErrNotExist) != row.swept {
			t.Errorf("%s, %v old: %v", row.name, row.age, err)
		}
	}
	if _, err := os.Lstat(at("dir.tmp-1-ABCDEFGH")); err != nil {
		t.Error(err)
	}
}

func TestUnreadableIsNotAbsent(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	path := filepath.Join(t.TempDir(), "x")
	must(t, os.WriteFile(path, nil, 0))
	if _, err := file.Read(path, 1); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	must(t, file.Create(path, []byte("one")))
	if err := file.Create(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created over another: %v", err)
	}
	wantFile(t, path, "one")
	must(t, file.Replace(path, []byte("three")))
	wantFile(t, path, "three")
	before, _ := os.Stat(path)
	must(t, file.Overwrite(path, []byte("4")))
	wantFile(t, path, "4")
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("overwritten by another file")
	}
	must(t, file.Overwrite(filepath.Join(dir, "y"), nil))
	must(t, os.Symlink(path, filepath.Join(dir, "link")))
	if err := file.Overwrite(filepath.Join(dir, "link"), []byte("x")); err == nil {
		t.Error("a symlink was followed")
	}
	if err := file.Create(filepath.Join(dir, "link"), nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created over a symlink: %v", err)
	}
	must(t, file.SyncDir(dir))
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("left behind: %v", left)
	}
	if err := file.Replace(filepath.Join(dir, "none", "x"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestAFullFifoKeepsNoWriterWaiting has a fifo whose reader takes nothing in the place of the file.
func TestAFullFifoKeepsNoWriterWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(path, 0o600))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	for err == nil {
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	written := make(chan error, 1)
	go func() { written <- file.Overwrite(path, []byte("x")) }()
	eventually.Holds(t, "the write ends", func() bool { return len(written) > 0 })
	if err := <-written; !errors.Is(err, file.ErrIrregular) {
		t.Error(err)
	}
}

// TestAFifoIsNoDirectory has a fifo without a writer, for which a plain open waits.
func TestAFifoIsNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(path, 0o600))
	opened := make(chan error, 2)
	go func() { _, err := file.Names(path); opened <- err }()
	go func() { opened <- file.SyncDir(path) }()
	eventually.Holds(t, "both end", func() bool { return len(opened) == 2 })
	for range 2 {
		if err := <-opened; !errors.Is(err, unix.ENOTDIR) {
			t.Error(err)
		}
	}
}

func TestLockIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			unlock, err := file.Lock(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if in.Add(1) != 1 {
				t.Error("two have it")
			}
			in.Add(-1)
			unlock()
		})
	}
	wg.Wait()
	unlock, err := file.Lock(t.Context(), path)
	must(t, err)
	defer unlock()
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := file.Lock(short, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAppendFollowsNothing(t *testing.T) {
	dir := t.TempDir()
	path, victim, fifo := filepath.Join(dir, "log"), filepath.Join(dir, "victim"), filepath.Join(dir, "fifo")
	for range 2 {
		f, err := file.Append(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("line\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || string(b) != "line\nline\n" || info.Mode() != 0o600 {
		t.Errorf("%q, %v, %v", b, info.Mode(), err)
	}
	if err := errors.Join(os.Symlink(victim, filepath.Join(dir, "link")), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "fifo"} {
		if _, err := file.Append(filepath.Join(dir, name)); !errors.Is(err, file.ErrIrregular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("it made what the link leads to")
	}
}

func TestSocketDir(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 80))
	for _, dir := range []string{"/var/tmp", long} {
		t.Setenv("TMPDIR", dir)
		if got := file.SocketDir(); len(got) > 64 || len(dir) <= 64 && got != dir {
			t.Errorf("for %s: %s", dir, got)
		}
	}
}
