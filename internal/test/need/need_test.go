package need_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	_ "pgregory.net/rapid" // has the flag that Checks sets

	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// recorder is a test that only notes how it ended. Skip, Skipf and Fatalf end the goroutine, as those of a real one do.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (*recorder) Helper()                 {}
func (*recorder) Name() string            { return "TestTheQuickTierNamesWhatItLeaves/case" }
func (*recorder) Cleanup(func())          {}
func (r *recorder) Skip(...any)           { r.skipped = true; runtime.Goexit() }
func (r *recorder) Skipf(string, ...any)  { r.skipped = true; runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; runtime.Goexit() }

// ending runs f as a test of its own.
func ending(f func(testing.TB)) *recorder {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

func TestMissingRequirement(t *testing.T) {
	for name, ask := range map[string]func(testing.TB){
		"program":  func(t testing.TB) { need.Program(t, "no-such-program-of-ratchet") },
		"variable": func(t testing.TB) { need.Env(t, "RATCHET_NO_SUCH_VARIABLE") },
	} {
		for _, tier := range []need.Tier{need.Quick, need.CI, need.Nightly} {
			t.Setenv(need.Variable, string(tier))
			want := recorder{skipped: tier == need.Quick, failed: tier != need.Quick}
			if r := ending(ask); r.skipped != want.skipped || r.failed != want.failed {
				t.Errorf("%s missing in tier %q: got skipped %v, failed %v; want %v, %v", name, tier, r.skipped, r.failed, want.skipped, want.failed)
			}
		}
	}
}

func TestSuite(t *testing.T) {
	tiers := []need.Tier{need.Quick, need.CI, need.Nightly}
	for asked, set := range tiers {
		t.Setenv(need.Variable, string(set))
		for of, tier := range tiers {
			r := ending(func(t testing.TB) { need.Suite(t, tier) })
			if want := of > asked; r.skipped != want || r.failed {
				t.Errorf("test of tier %q with %s=%s: got skipped %v, failed %v; want skipped %v", tier, need.Variable, set, r.skipped, r.failed, want)
			}
		}
	}
}

func TestTheQuickTierNamesWhatItLeaves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "left")
	t.Setenv("RATCHET_TEST_LEFT", file)
	for name, row := range map[string]struct {
		tier need.Tier
		ask  func(testing.TB)
		left bool
	}{
		"test of ci":        {need.Quick, func(t testing.TB) { need.Suite(t, need.CI) }, true},
		"test of the night": {need.Quick, func(t testing.TB) { need.Suite(t, need.Nightly) }, false},
		"missing program":   {need.Quick, func(t testing.TB) { need.Program(t, "no-such-program-of-ratchet") }, true},
		"fewer cases":       {need.Quick, func(t testing.TB) { need.Checks(t, 1, 2) }, true},
		"as many cases":     {need.Quick, func(t testing.TB) { need.Checks(t, 2, 2) }, false},
		"in ci":             {need.CI, func(t testing.TB) { need.Suite(t, need.CI) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(need.Variable, string(row.tier))
			ending(row.ask)
			want := ""
			if row.left {
				want = "github.com/ratchet-dev/ratchet/internal/test/need TestTheQuickTierNamesWhatItLeaves\n"
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestMisspeltTierIsNoticed(t *testing.T) {
	t.Setenv(need.Variable, "nigthly")
	defer func() {
		if recover() == nil {
			t.Error("got no panic, want one that names the tiers")
		}
	}()
	need.Has(need.CI)
}

func TestPresentRequirement(t *testing.T) {
	if need.Program(t, "go") == "" {
		t.Error("got no path of go")
	}
	t.Setenv("RATCHET_SOME_VARIABLE", "x")
	if got := need.Env(t, "RATCHET_SOME_VARIABLE"); got != "x" {
		t.Errorf("got %q, want x", got)
	}
}
