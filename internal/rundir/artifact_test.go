package rundir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

func TestKeepLoadFind(t *testing.T) {
	d := newDir(t)
	name := rundir.Artifact(run.Execute, 3, 2, "patch")
	if name != "execute/iter-0003.2.patch" || rundir.Artifact(run.Plan, 1, 1, "md") != "plan/iter-0001.md" {
		t.Errorf("name %s", name)
	}
	if _, _, err := d.Find(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	ref, err := d.Keep(name, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(d.Path(), "artifacts", name)
	first, _ := os.Stat(file)
	again, err := d.Keep(name, []byte("one"))
	second, _ := os.Stat(file)
	if err != nil || again != ref || !os.SameFile(first, second) {
		t.Errorf("kept again: %+v, %v; another file: %v", again, err, !os.SameFile(first, second))
	}
	if b, err := d.Load(ref); err != nil || string(b) != "one" {
		t.Errorf("loaded %q, %v", b, err)
	}
	if b, found, err := d.Find(name); err != nil || string(b) != "one" || found != ref {
		t.Errorf("found %q, %+v, %v", b, found, err)
	}
	if _, err := d.Keep(name, []byte("two")); err != nil {
		t.Fatal(err)
	}
	// What an accepted result names stays as it was named.
	if b, err := d.Load(ref); err != nil || string(b) != "one" {
		t.Errorf("after a late attempt kept other bytes: %q, %v", b, err)
	}
	if err := os.RemoveAll(filepath.Join(d.Path(), "artifacts", "by-digest")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(ref); !errors.Is(err, rundir.ErrAltered) {
		t.Errorf("altered: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(ref); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}

// The second name costs no room, and other bytes under it are never taken for
// those of the digest.
func TestArtifactsHaveASecondName(t *testing.T) {
	d := newDir(t)
	ref, err := d.Keep("plan/iter-0001.md", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(d.Path(), "artifacts", ref.Name)
	second := filepath.Join(d.Path(), "artifacts", "by-digest", string(ref.Digest))
	a, _ := os.Stat(first)
	if b, err := os.Stat(second); err != nil || !os.SameFile(a, b) {
		t.Errorf("two files: %v", err)
	}
	for _, name := range []string{first, second} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	write(t, second, []byte("two"))
	if _, err := d.Load(ref); !rundir.Lost(err) {
		t.Errorf("loaded with %v", err)
	}
	if _, err := d.Keep("other.md", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if b, err := d.Load(ref); err != nil || string(b) != "one" {
		t.Errorf("kept again: %q, %v", b, err)
	}
}

// inOrder are artifacts that are kept together.
var inOrder = []rundir.Content{
	{Name: "execute/iter-0001.changes.patch", Bytes: []byte("one")},
	{Name: "execute/iter-0001.call.json", Bytes: []byte("two")},
	{Name: "execute/iter-0001.raw.txt", Bytes: []byte("three")},
}

// Who finds the last of them by its name relies on those before it.
func TestArtifactsGetTheirNamesInOrder(t *testing.T) {
	for named := range inOrder {
		store, err := rundir.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("RATCHET_FAILPOINTS", fmt.Sprintf("rundir.before-rename=kill@%d", named+1))
		cmd, said := child(t, asKeeper, store.Dir())
		t.Setenv("RATCHET_FAILPOINTS", "") // this process lives
		if said.Scan() || cmd.Wait() == nil {
			t.Fatal("the child was not killed")
		}
		d := store.Run(told.Input.RunID)
		for i, c := range inOrder {
			b, ref, err := d.Find(c.Name)
			if i < named && (err != nil || ref != c.Ref() || string(b) != string(c.Bytes)) || i >= named && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("with %d names, %s is %q, %+v, %v", named, c.Name, b, ref, err)
			}
			if b, err := d.Load(c.Ref()); i < named && (err != nil || string(b) != string(c.Bytes)) {
				t.Errorf("with %d names, the digest of %s leads to %q, %v", named, c.Name, b, err)
			}
		}
		if refs, err := d.KeepInOrder(inOrder...); err != nil || len(refs) != len(inOrder) {
			t.Errorf("kept again: %+v, %v", refs, err)
		}
	}
}

// One that cannot be kept keeps the others from having names, and leaves no file.
func TestArtifactsAreKeptTogetherOrNotAtAll(t *testing.T) {
	d := newDir(t)
	if refs, err := d.KeepInOrder(inOrder[0], inOrder[1], rundir.Content{Name: "../x"}); err == nil {
		t.Errorf("kept %+v", refs)
	}
	each(t, d.Path(), func(name string, _ []byte) { t.Errorf("%s was left behind", name) })
}

func TestNamesThatLeaveTheArtifacts(t *testing.T) {
	d := newDir(t)
	record(t, d, whole())
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(d.Path(), "artifacts", "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"../../../x", "../state.json", "../events.ndjson", "plan/../../state.json", "..", ".", "", "/etc/hosts", "plan//x", "link/x", "a\x00b",
	} {
		if ref, err := d.Keep(name, []byte("x")); err == nil {
			t.Errorf("%q was kept as %+v", name, ref)
		}
		if b, _, err := d.Find(name); err == nil {
			t.Errorf("%q was found: %q", name, b)
		}
		if b, err := d.Load(run.Ref{Name: name, Digest: run.DigestOf(nil)}); err == nil || errors.Is(err, rundir.ErrAltered) {
			t.Errorf("%q was read: %q, %v", name, b, err)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
	wantWhole(t, d)
}

func TestOnlyTheOwnerReads(t *testing.T) {
	d := newDir(t)
	record(t, d, whole())
	if _, err := d.Keep("plan/iter-0001.md", []byte("x")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(d.Path(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAt(t *testing.T) {
	d := newDir(t)
	record(t, d, whole())
	same, err := rundir.At(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	wantWhole(t, same)
	for _, bad := range []string{filepath.Join(d.Path(), "none"), logFile(d)} {
		if _, err := rundir.At(bad); err == nil {
			t.Errorf("%s is taken for a directory", bad)
		}
	}
}

func TestLock(t *testing.T) {
	d := newDir(t)
	lock, err := d.Take(t.Context(), "execute/iter-0001.lock", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := d.Take(t.Context(), "execute/iter-0002.lock", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Unlock()
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := d.Take(short, "execute/iter-0001.lock", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a taken lock: %v", err)
	}
	taken := make(chan error)
	go func() {
		lock, err := d.Take(t.Context(), "execute/iter-0001.lock", nil)
		if err == nil {
			lock.Unlock()
		}
		taken <- err
	}()
	lock.Unlock()
	if err := <-taken; err != nil {
		t.Error(err)
	}
}

func TestTheLockOfAKilledProcessIsFree(t *testing.T) {
	store, err := rundir.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd, said := child(t, asHolder, store.Dir())
	if !said.Scan() || said.Text() != "held" {
		t.Fatalf("the child said %q, %v", said.Text(), said.Err())
	}
	d := store.Run(told.Input.RunID)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := d.Take(short, "a lock", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("while another process has it: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	lock, err := d.Take(t.Context(), "a lock", nil)
	if err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
}
