package host_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// registry is a registry of sessions in a home of its own.
type registry struct {
	t    *testing.T
	dirs citizen.Dirs
	work string // where the sessions work
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	home, err := os.MkdirTemp("", "host") // a short path: sockets lie in it
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	r := &registry{t: t, work: filepath.Join(home, "work")}
	check(t, os.Mkdir(r.work, 0o700))
	r.dirs, err = citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	check(t, err)
	return r
}

func (r *registry) enroll(b citizen.Birth) citizen.Record {
	r.t.Helper()
	b.CWD = r.work
	store := citizen.Store{Dir: r.dirs.Sessions}
	record, err := store.Register(r.t.Context(), b)
	check(r.t, err)
	return record
}

// openHost opens a host on the registry. Its environment has the entries besides HOME.
func (r *registry) openHost(environ ...string) (*host.Host, error) {
	return host.Open(r.t.Context(), host.Config{RunsDir: r.t.TempDir(), Environ: append([]string{"HOME=" + r.dirs.Home}, environ...), Sandbox: run.SandboxOff})
}

// tryPerform executes an activity as a worker does.
func tryPerform[Out any](t *testing.T, registered, activity, in any) (out Out, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterActivity(registered)
	v, err := env.ExecuteActivity(activity, in)
	if err != nil {
		return out, err
	}
	return out, v.Get(&out)
}

// perform is tryPerform for an activity that must not fail.
func perform[Out any](t *testing.T, registered, activity, in any) Out {
	t.Helper()
	out, err := tryPerform[Out](t, registered, activity, in)
	check(t, err)
	return out
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
