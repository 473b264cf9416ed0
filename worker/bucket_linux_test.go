package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// takeBucket puts a file in the place of the bucket's directory, and back takes it away again. There is a file or a
// directory at any moment: a worker that tries again makes a directory that is missing.
func (r *sharedRun) takeBucket(t *testing.T) (back func()) {
	t.Helper()
	away := r.bucket + ".away"
	if err := os.WriteFile(away, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	exchange := func() {
		t.Helper()
		if err := unix.Renameat2(unix.AT_FDCWD, r.bucket, unix.AT_FDCWD, away, unix.RENAME_EXCHANGE); err != nil {
			t.Fatal(err)
		}
	}
	exchange()
	return exchange
}

// TestTheBucketIsAway takes the bucket away while an answer comes: the step waits, and nothing is asked for again.
func TestTheBucketIsAway(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "unshare")
	s := newFixture(t)
	r := s.share("away", newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
	hold := filepath.Join(r.answers, "hold.execute-1")
	s.put(hold, "")
	host := r.host("alpha")
	wr := r.s.start(r.in)
	eventually.Holds(t, "the call", func() bool {
		calls, _, err := r.calls()
		return err == nil && calls["execute-1"] == 1
	})
	back := r.takeBucket(t)
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	answer := filepath.Join(host.dir, "runs", "workflows", string(r.in.RunID), "artifacts", "execute", "iter-0001.raw.txt")
	eventually.Holds(t, "the answer on the host's disk", func() bool {
		_, err := os.Stat(answer)
		return err == nil
	})
	if got := r.hostOfStep(t, wr); got != "alpha" {
		t.Errorf("the step without its bucket is on %q, want alpha", got)
	}
	back()
	if err := r.await(t, wr); err != nil {
		t.Fatal(err)
	}
	r.verify(t, "away", 0)
}

// TestServersAreAwayForAMinute takes the bucket and the server of the repository away for a minute, while three hosts work.
// All runs end as they would, and no call is made again.
func TestServersAreAwayForAMinute(t *testing.T) {
	need.Suite(t, need.Nightly)
	need.Program(t, "unshare")
	s := newFixture(t)
	first := s.share("away", variants[0](), 0.3)
	u, err := url.Parse(first.origin.Serve(t))
	if err != nil {
		t.Fatal(err)
	}
	first.origin.UseHelper(t)
	way := networkTo(t, u.Host)
	u.Host = way.address
	first.url = u.String()
	runs, wave := []*sharedRun{}, []*scripted{}
	for n := range 60 {
		r := first.beside(variants[n%len(variants)](), 0.3)
		runs, wave = append(runs, r), append(wave, r.scripted)
	}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		<-first.host(name, "GIT_ALLOW_PROTOCOL=https").ready
	}
	stop := first.s.decided(t, wave)
	over := first.s.waves(wave, 10)
	eventually.Holds(t, "the first runs end", func() bool {
		refs := first.origin.Git("for-each-ref", "refs/heads/ratchet/")
		return strings.Count(refs, "\n") > 5
	})
	const away = time.Minute
	way.cut(away)
	back := first.takeBucket(t)
	<-time.After(away)
	back()
	<-over
	stop()
	for _, r := range runs {
		r.verify(t, string(r.in.RunID), 0)
	}
}
