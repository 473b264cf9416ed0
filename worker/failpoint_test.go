package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

var hit = regexp.MustCompile(`failpoint\.Hit\("([^"]+)"\)`)

// failpoints are the names of all points in the sources of the program.
func failpoints(t *testing.T) []string {
	t.Helper()
	var points []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range hit.FindAllSubmatch(b, -1) {
			points = append(points, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// others are the parts of the program that a run with recorded answers does not
// come through; their points are reached by tests of their own:
// TestKilledAtEveryPointOfADispatch, TestKilledAtEveryPointOfAPullRequest, TestKilledAtEveryPointOfATicket,
// TestKilledAtEveryPointOfARemote, TestAHostBurns and the packages' own.
var others = []string{"desk", "gidlock", "mailbox", "citizen", "scratch", "branch", "delivery", "session", "merge", "clean", "forge", "ticket", "mirror", "store"}

// TestKilledAtEveryFailpoint kills workers right before and after each durable
// effect of a run. Each run has workers that die at one point, the first time or a
// later one, and then one that lives.
func TestKilledAtEveryFailpoint(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	kills, deaths := 1, 2
	if need.Has(need.Nightly) {
		kills, deaths = 20, 4
	}
	s := newFixture(t)
	points := slices.DeleteFunc(failpoints(t), func(point string) bool {
		part, _, _ := strings.Cut(point, ".")
		return slices.Contains(others, part)
	})
	if len(points) < 12 {
		t.Fatalf("only %d failpoints in the sources: %v", len(points), points)
	}
	log := filepath.Join(s.dir, "failpoints")
	killed := make([]int, len(points))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 6)
	for i, point := range points {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for n := 0; killed[i] < kills && n < 2*kills; n++ { // not every run comes to each point
				there := s.at(fmt.Sprintf("%s-%d", point, n))
				story := variants[(1+n)%len(variants)]
				if strings.HasPrefix(point, "part.") {
					story = partial
				}
				d := &doomedRun{s: there, scripted: there.follow(story(), 0.05), point: point, log: log, deaths: deaths}
				d.live(t)
				killed[i] += d.killed
			}
		})
	}
	wg.Wait()
	s.verifyFixture(t)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	reached := strings.Fields(string(b))
	for i, point := range points {
		if killed[i] < kills || !slices.Contains(reached, point) {
			t.Errorf("%s: %d kills, want %d", point, killed[i], kills)
		}
	}
	t.Logf("%d points %v, kills: %v", len(points), points, killed)
}

// doomedRun is a run whose workers die at a point, until one may live.
type doomedRun struct {
	*scripted
	s      *fixture
	kind   string // of the worker; empty: the real one
	point  string
	log    string // of the points reached
	deaths int    // at most
	killed int
}

// live takes the run to its end.
func (d *doomedRun) live(t *testing.T) {
	stop := d.s.decided(t, []*scripted{d.scripted})
	defer stop()
	d.execute(t, func() { d.s.verify(t, d.scripted, d.killed) })
}

// execute calls then when the run is over and a worker is still there.
func (d *doomedRun) execute(t *testing.T, then func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		d.s.finish(t.Context(), d.scripted)
	}()
	kind := asWorker + "=1"
	if d.kind != "" {
		kind = asWorker + "=" + d.kind
	}
	for i := range d.deaths {
		nth := 1
		if i > 0 {
			nth += rand.IntN(5)
		}
		w := d.s.launch(kind, fmt.Sprintf("RATCHET_FAILPOINTS=%s=kill@%d", d.point, nth), "RATCHET_FAILPOINT_LOG="+d.log)
		select {
		case <-w.done:
			d.killed++
			continue
		case <-over:
		}
		w.kill()
		break
	}
	w := d.s.launch(kind)
	defer w.kill()
	<-over
	then()
}

// TestKilledBetweenEffectAndReturn aims at the window in which a patch is on
// the branch and nobody knows. An Apply that appends must show it, or the
// suites above prove nothing.
func TestKilledBetweenEffectAndReturn(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	const size = 4
	s := newFixture(t)
	for _, kind := range []string{"1", naive} {
		var wg sync.WaitGroup
		twice := make([]int, size)
		for i := range size {
			there := s.at(fmt.Sprintf("window-%s-%d", kind, i))
			line := edit{file: "log.txt", line: "execute-1"}
			d := &doomedRun{
				s: there, scripted: there.follow(newScript(run.Never, "true").patch("execute-1", line), 0),
				kind: kind, point: "apply.committed", log: filepath.Join(s.dir, "window"), deaths: 1,
			}
			wg.Go(func() {
				d.execute(t, func() {
					twice[i] = strings.Count(s.git("-C", s.repo, "show", d.in.RunID.Branch()+":log.txt"), line.line) - 1
				})
				if d.killed != 1 {
					t.Errorf("%s: the worker was not killed", d.in.RunID)
				}
			})
		}
		wg.Wait()
		duplicates := 0
		for _, n := range twice {
			duplicates += n
		}
		t.Logf("worker %q: %d runs killed in the window, %d duplicates", kind, size, duplicates)
		if (kind == naive) != (duplicates > 0) {
			t.Errorf("worker %q: %d duplicates", kind, duplicates)
		}
	}
}
