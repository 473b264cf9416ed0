package merge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The test binary merges and ends where this variable holds what.
const jobVariable = "RATCHET_TEST_MERGE"

func TestMain(m *testing.M) {
	if job := os.Getenv(jobVariable); job != "" {
		if err := mergeJob(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func mergeJob(text string) error {
	var in merge.Input
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := merge.Prepare(ctx, in)
	if err != nil {
		return err
	}
	return p.Apply(ctx)
}

// TestAKilledMerge kills the merge at each point, on a branch that is checked out and has moved on. The branch is at
// the old commit or at the new one, and another merge finishes what the first has begun.
func TestAKilledMerge(t *testing.T) {
	points := killPoints(t)
	if len(points) < 3 {
		t.Fatalf("points %v", points)
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			r, in := newRepo(t)
			r.write("a.txt", strings.Replace(lines, "nine", "NINE", 1))
			old := r.commit("mine")
			job, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), jobVariable+"="+string(job), "RATCHET_FAILPOINTS="+point+"=kill")
			if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.Success() || err == nil || len(out) > 0 {
				t.Fatalf("it was not killed: %v\n%s", err, out)
			}
			tip := run.Commit(r.git("rev-parse", "main"))
			if tip != old && r.git("log", "-1", "--format=%(trailers:key=Ratchet-Head,valueonly,separator=)", "main") != string(in.Head) {
				t.Errorf("main is at %s, neither old nor new", tip)
			}
			if _, err := r.merge(in); err != nil {
				t.Fatal(err)
			}
			r.has(strings.Replace(mended, "nine", "NINE", 1))
			if n := r.git("rev-list", "--count", string(old)+"..main"); n != "2" {
				t.Errorf("%s commits", n)
			}
		})
	}
}

// killPoints returns the points that an undisturbed merge reaches.
func killPoints(t *testing.T) (points []string) {
	r, in := newRepo(t)
	job, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "points")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(job), "RATCHET_FAILPOINT_LOG="+log)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.has(mended)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}
