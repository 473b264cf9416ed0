package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// forgery is a check that fails and says that it passed: it writes into the
// report of its supervisor, whether that is its parent or further up.
const forgery = `S=$PPID
until tr '\0' ' ' </proc/$S/cmdline | grep -q ^ratchet-supervisor; do S=$(awk '/^PPid/{print $2}' /proc/$S/status); done
printf 'errno=0 status=0 left=0 told=false\n' > /proc/$S/fd/4; exit 1`

// patched is a run of one patch, judged by one check, whose only fix is none.
func (s *fixture) patched(check string) run.Input {
	in := s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")}))
	none := 0
	in.Checks, in.MaxFix, in.NoBaseline = []string{check}, &none, true
	return in
}

// Findings B4 and B6.
func TestAFailingCheckCannotPass(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	if !asNobody(t) {
		return
	}
	s := newOwnFixture(t)
	s.spawn()
	in := s.patched(forgery)
	if res := s.outcome(in); res.Status != run.Failed {
		t.Errorf("the run is %s", res.Status)
	}
	if got := s.checked(in.RunID); got.Status != check.Fail || got.ExitCode != 1 || !strings.Contains(got.Head, "ermission denied") {
		t.Errorf("the check: %+v", got)
	}
	// The control: of a parent that is open to others the same script reaches
	// descriptor 4.
	got := s.under("ratchet-supervisor", forgery)
	if !strings.HasPrefix(got, "errno=0 status=0") {
		t.Errorf("the script does not do what it should: %q", got)
	}
}

// under runs a script as the child of a process of that name that is open to
// others, and returns what reached its descriptor 4.
func (s *fixture) under(name, script string) string {
	s.t.Helper()
	out, err := os.CreateTemp(s.dir, "report")
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("/bin/sh")
	cmd.Args = []string{name, "-c", `sh -c "$SCRIPT"; :`}
	cmd.Env = append(os.Environ(), "SCRIPT="+script)
	cmd.ExtraFiles = []*os.File{out, out} // 3 and 4
	if said, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, said)
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// Finding B4: a check that ends its supervisor neither passes nor goes round
// for ever. It is put to a person.
func TestACheckThatEndsItsSupervisorIsAskedAbout(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	if !asNobody(t) {
		return
	}
	s := newOwnFixture(t)
	s.spawn()
	begun := filepath.Join(s.dir, "begun")
	in := s.patched(fmt.Sprintf("echo begun >>%s; setsid sleep 300 & kill -KILL $PPID; sleep 300", begun))
	s.start(in)
	eventually.Holds(t, "the run asks", func() bool {
		st, err := query[run.State](s, in.RunID, workflows.StateQuery)
		return err == nil && st.Status == run.AwaitingInput
	})
	if b, err := os.ReadFile(begun); err != nil || strings.Count(string(b), "begun") != 2 {
		t.Errorf("the check was begun %q times, %v", b, err)
	}
	if got := s.checked(in.RunID); got.Status != check.Error || !strings.Contains(got.Reason, "supervis") {
		t.Errorf("the check: %+v", got)
	}
	if left := s.processes(string(in.RunID)); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// theft looks for a secret in all processes of its user but its own ancestors
// and itself, and in the workers and supervisors above it: environment, memory,
// and what descriptors lead to.
const theft = `for p in /proc/[0-9]*; do
  tr '\0' '\n' 2>/dev/null <$p/environ | grep ^THE_SECRET= && echo "environ of $(tr '\0' ' ' <$p/cmdline)"
done
P=$PPID
while [ "$P" -gt 1 ]; do
  case $(tr '\0' ' ' </proc/$P/cmdline) in
  ratchet-supervisor*|*-runs-dir*)
    for f in environ mem; do (: </proc/$P/$f) 2>/dev/null && echo "opened $f of $P"; done
    ls /proc/$P/fd/0 >/dev/null 2>&1 && echo "opened fd of $P"
    seen=$((seen+1));;
  esac
  P=$(awk '/^PPid/{print $2}' /proc/$P/status)
done
echo "looked at $seen above"; exit 1`

// Finding B11.
func TestACheckSeesNothingOfItsWorker(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	if !asNobody(t) {
		return
	}
	s := newOwnFixture(t)
	const secret = "THE_SECRET=canary-in-the-coal-mine"
	s.spawn(secret)
	open := exec.Command("/bin/sleep", "300") // the control: it is open to others, and has the secret as well
	open.Env = []string{secret}
	if err := open.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { open.Process.Kill(); open.Wait() }()
	in := s.patched(fmt.Sprintf("(: </proc/%d/environ) 2>/dev/null && echo opened environ of the engine\n%s", s.engine.PID, theft))
	if res := s.outcome(in); res.Status != run.Failed {
		t.Errorf("the run is %s", res.Status)
	}
	seen := s.checked(in.RunID).Head
	if strings.Count(seen, "environ of") != 1 || !strings.Contains(seen, "environ of /bin/sleep 300") {
		t.Errorf("not the open process alone has shown its environment: %s", seen)
	}
	if strings.Contains(seen, "opened ") || !strings.Contains(seen, "looked at 2 above") {
		t.Errorf("of worker, engine and supervisor: %s", seen)
	}
}
