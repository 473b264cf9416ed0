package rundir_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// A seal is written over. So it must not be another's file under the seal's name.
func TestTheSealIsWrittenOverNoOtherFile(t *testing.T) {
	for _, tc := range []struct {
		name  string
		place func(file, seal string) error
	}{
		{"a second name of a file", os.Link},
		{"a link to a file", os.Symlink},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := telling(t)
			w.must(t, 8)
			seal := sealOf(logFile(w.dir))
			theirs := filepath.Join(filepath.Dir(w.dir.Path()), "theirs")
			before := read(t, seal)
			write(t, theirs, before)
			remove(t, seal)
			if err := tc.place(theirs, seal); err != nil {
				t.Fatal(err)
			}
			w.must(t, len(steps))
			wantWhole(t, w.dir)
			if got := read(t, theirs); !bytes.Equal(got, before) {
				t.Errorf("the other file is %s", got)
			}
			if got := read(t, seal); bytes.Equal(got, before) {
				t.Errorf("the seal is still %s", got)
			}
		})
	}
}

// A course that replaces another has fewer lines and a shorter seal, which covers them all the same.
func TestASealOfFewerLinesIsReadable(t *testing.T) {
	w := telling(t)
	w.must(t, 14)
	long := read(t, sealOf(logFile(w.dir)))

	event := steps[0].Events[0]
	event.TS = event.TS.Add(time.Hour)
	other := entry(event)
	other.State, other.Execution, other.Over = steps[0].State, w.execution, true
	record(t, w.dir, other)
	if short := bytes.TrimSpace(read(t, sealOf(logFile(w.dir)))); len(short)+1 >= len(long) {
		t.Fatalf("the seal is not shorter:\n%s\n%s", long, short)
	}
	add(t, logFile(w.dir), string(lines()[1]))
	if s, err := w.dir.Sealed(); err != nil || s.Seq != 1 {
		t.Errorf("the sealed lines lead to %+v, %v", s, err)
	}
}

// Who reads the record after BeginRecord waits until the lines are sealed.
func TestTheRecordIsLockedUntilItIsSealed(t *testing.T) {
	d := newDir(t)
	for i := range steps {
		_, onDisk, err := d.BeginRecord(steps[i])
		if err != nil {
			t.Fatal(err)
		}
		if s, err := d.Sealed(); err != nil || s.Seq != i+1 {
			t.Fatalf("after event %d the sealed lines lead to %+v, %v", i+1, s, err)
		}
		for range 2 {
			if err := onDisk(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantWhole(t, d)
}

// A seal can be read before it is on disk. So the seal of another process is written again, but not the one that this
// process has put on disk itself.
func TestTheSealOfAnotherProcessIsWrittenAgain(t *testing.T) {
	runs := t.TempDir()
	d := openRun(t, runs)
	record(t, d, upTo(3))
	seal := sealOf(logFile(d))
	want := read(t, seal)
	if err := os.Chtimes(seal, noon, noon); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		dir   *rundir.Dir
		again bool
	}{
		{"of this process", d, false},
		{"of another", openRun(t, runs), true},
	} {
		record(t, tc.dir, upTo(3))
		info, err := os.Stat(seal)
		if err != nil {
			t.Fatal(err)
		}
		if again := !info.ModTime().Equal(noon); again != tc.again {
			t.Errorf("a seal %s is written again: %v", tc.name, again)
		}
		if got := read(t, seal); !bytes.Equal(got, want) {
			t.Errorf("a seal %s is\n%s\nwant\n%s", tc.name, got, want)
		}
	}
	record(t, d, whole())
	wantWhole(t, d)
}
