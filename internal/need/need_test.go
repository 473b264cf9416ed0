package need_test

import (
	"runtime"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/need"
)

// recorder is a test that only notes how it ended. Skip and Fatalf end the
// goroutine, as those of a real one do.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (*recorder) Helper()                 {}
func (r *recorder) Skip(...any)           { r.skipped = true; runtime.Goexit() }
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

func TestWhatIsMissingSkipsUnlessStrict(t *testing.T) {
	for name, ask := range map[string]func(testing.TB){
		"a program":  func(t testing.TB) { need.Program(t, "no-such-program-of-ratchet") },
		"a variable": func(t testing.TB) { need.Env(t, "RATCHET_NO_SUCH_VARIABLE") },
	} {
		for _, strict := range []bool{false, true} {
			t.Setenv(need.StrictVariable, map[bool]string{true: "1"}[strict])
			if r := ending(ask); r.skipped == strict || r.failed != strict {
				t.Errorf("%s, strict %v: skipped %v, failed %v", name, strict, r.skipped, r.failed)
			}
		}
	}
}

func TestWhatIsThereIsReturned(t *testing.T) {
	if need.Program(t, "go") == "" {
		t.Error("no path of go")
	}
	t.Setenv("RATCHET_SOME_VARIABLE", "x")
	if got := need.Env(t, "RATCHET_SOME_VARIABLE"); got != "x" {
		t.Errorf("value %q", got)
	}
}
