package rundir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/store"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// sharing returns runs directories of hosts that have one bucket.
func sharing(t *testing.T, n int) (hosts []*rundir.Store) {
	t.Helper()
	url := "file://" + t.TempDir()
	for range n {
		dir := t.TempDir()
		b, err := store.Open(t.Context(), url, time.Second)
		if err == nil {
			err = rundir.Share(dir, b)
		}
		s, wrong := rundir.Open(t.Context(), dir)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		hosts = append(hosts, s)
	}
	return hosts
}

// attend works on the run r1 on a host.
func attend(t *testing.T, s *rundir.Store, work func(*rundir.Dir)) {
	t.Helper()
	done, err := s.Attend(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	d := s.Run("r1")
	work(d)
	if err := d.Publish(); err != nil {
		t.Fatal(err)
	}
}

func TestSegmentsAreReadOnEveryHost(t *testing.T) {
	hosts := sharing(t, 3)
	attend(t, hosts[0], func(d *rundir.Dir) {
		if _, err := d.Keep("plan/iter-0001.raw.txt", []byte("first")); err != nil {
			t.Fatal(err)
		}
		if err := d.Log("run", rundir.Info, "one", nil); err != nil {
			t.Fatal(err)
		}
		if err := hosts[0].Slot("r1", "execute").SetNote([]byte("{}")); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.RemoveAll(hosts[0].Dir()); err != nil {
		t.Fatal(err)
	}
	attend(t, hosts[1], func(d *rundir.Dir) {
		if b, _, err := d.Find("plan/iter-0001.raw.txt"); err != nil || string(b) != "first" {
			t.Errorf("got %q, %v", b, err)
		}
		if note, err := hosts[1].Slot("r1", "execute").Note(); err != nil || string(note) != "{}" {
			t.Errorf("got the note %q, %v", note, err)
		}
		if err := d.Log("run", rundir.Info, "two", nil); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(hosts[1].Agents("r1")); err != nil {
			t.Fatal(err)
		}
	})
	d, err := rundir.OfRun(hosts[2].Dir(), "r1")
	if err != nil || !d.Logged("run", "one") || !d.Logged("run", "two") {
		t.Errorf("a third host does not have both lines of the log: %v", err)
	}
	if note, err := hosts[2].Slot("r1", "execute").Note(); err != nil || note != nil {
		t.Errorf("the note of a slot that was removed is %q, %v", note, err)
	}
	if ids, err := rundir.IDs(hosts[2].Dir()); err != nil || len(ids) != 1 {
		t.Errorf("got runs %v, %v", ids, err)
	}
}

// Hosts that were late may have continued from the same place.
func TestSegmentsOfLateHostsLoseNothing(t *testing.T) {
	hosts := sharing(t, 3)
	attend(t, hosts[0], func(*rundir.Dir) {
		attend(t, hosts[1], func(d *rundir.Dir) {
			if _, err := d.Keep("check/iter-0001.json", []byte("accepted")); err != nil {
				t.Fatal(err)
			}
			if err := d.Log("run", rundir.Info, "two", nil); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := hosts[0].Run("r1").Keep("check/iter-0001.json", []byte("late")); err != nil {
			t.Fatal(err)
		}
		if err := hosts[0].Run("r1").Log("run", rundir.Info, "one", nil); err != nil {
			t.Fatal(err)
		}
	})
	d, err := rundir.OfRun(hosts[2].Dir(), "r1")
	if err != nil || !d.Logged("run", "one") || !d.Logged("run", "two") {
		t.Errorf("a line of the log is lost: %v", err)
	}
	ref := rundir.Content{Name: "check/iter-0001.json", Bytes: []byte("accepted")}.Ref()
	if b, err := d.Load(ref); err != nil || string(b) != "accepted" {
		t.Errorf("got %q, %v; want what the result names", b, err)
	}
}

// Two hosts do the same step at once, again and again: each result names what it was, on a third host too.
func TestSegmentsOfTheSameStepOnTwoHosts(t *testing.T) {
	times := 20
	if need.Has(need.Nightly) {
		times = 200
	}
	hosts := sharing(t, 3)
	refs := [2][]run.Ref{make([]run.Ref, times), make([]run.Ref, times)}
	t.Run("steps", func(t *testing.T) {
		for i := range refs {
			t.Run(fmt.Sprintf("host-%d", i), func(t *testing.T) {
				t.Parallel()
				for n := range times {
					attend(t, hosts[i], func(d *rundir.Dir) {
						var err error
						if refs[i][n], err = d.Keep(fmt.Sprintf("evaluate/iter-%04d.json", n), fmt.Appendf(nil, "%d by host %d", n, i)); err != nil {
							t.Fatal(err)
						}
					})
				}
			})
		}
	})
	d, err := rundir.OfRun(hosts[2].Dir(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	other := 0
	for i := range refs {
		for n, ref := range refs[i] {
			if b, err := d.Load(ref); err != nil || string(b) != fmt.Sprintf("%d by host %d", n, i) {
				t.Errorf("result %d of host %d: got %q, %v", n, i, b, err)
			}
			if b, _, err := d.Find(ref.Name); err != nil || run.DigestOf(b) != ref.Digest {
				other++
			}
		}
	}
	if other != times {
		t.Errorf("the control: by their names alone %d results are those of the other host, want %d", other, times)
	}
}

// A worker that dies between the disk and the bucket leaves an answer on the disk alone.
func TestSegmentsTakeWhatTheDiskHasMore(t *testing.T) {
	hosts := sharing(t, 2)
	attend(t, hosts[0], func(*rundir.Dir) {})
	if _, err := hosts[0].Run("r1").Keep("plan/iter-0001.raw.txt", []byte("paid")); err != nil { // not attended: it stays on the disk
		t.Fatal(err)
	}
	attend(t, hosts[0], func(*rundir.Dir) {})
	d, err := rundir.OfRun(hosts[1].Dir(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if b, _, err := d.Find("plan/iter-0001.raw.txt"); err != nil || string(b) != "paid" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestSegmentsThatWereAlteredAreRefused(t *testing.T) {
	hosts := sharing(t, 1)
	bucket := t.TempDir()
	b, err := store.Open(t.Context(), "file://"+bucket, time.Second)
	if err == nil {
		err = rundir.Share(hosts[0].Dir(), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	attend(t, hosts[0], func(d *rundir.Dir) {
		if _, err := d.Keep("plan/iter-0001.raw.txt", []byte("first")); err != nil {
			t.Fatal(err)
		}
	})
	names, _ := filepath.Glob(filepath.Join(bucket, "runs", "r1", "*"))
	if len(names) != 1 {
		t.Fatalf("got segments %v, want 1", names)
	}
	if err := os.WriteFile(names[0], []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(hosts[0].Run("r1").Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := hosts[0].Attend(t.Context(), "r1"); err == nil {
		t.Error("an altered segment was taken")
	}
}
