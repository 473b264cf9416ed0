package dispatch_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// silent is a session of ours that nothing is sent to.
type silent struct{ controlsocket.Session }

// host registers a session of ours at the target's address.
func (o *fixture) host() (leave func()) {
	o.t.Helper()
	_, leave, err := citizen.Host{Dirs: o.dirs}.Open(context.Background(), gid, o.work, dispatch.About{Agent: "claude", Run: "r-1", Role: "developer"}, silent{})
	check(o.t, err)
	o.t.Cleanup(leave)
	return leave
}

// TestNoDispatchResumesASessionOfOurs has one whose socket is gone, and one whose worker was killed. The control is
// a record of pi itself.
func TestNoDispatchResumesASessionOfOurs(t *testing.T) {
	o := newFixture(t)
	o.host()
	check(t, os.Remove(o.socket()))
	out := receive(t, "the outcome", o.own(o.ownedTurn()))
	if out.err != nil || out.Kind != dispatch.StartFailed || !strings.Contains(out.Error, "claude, developer of run r-1") || len(o.agents.starts) != 0 {
		t.Errorf("%+v, after %d starts", out, len(o.agents.starts))
	}
	if got, err := o.acts.Resolve(t.Context(), gid); err != nil || got.Backend != dispatch.Pi || got.Reject != "" {
		t.Errorf("while its worker lives: %+v, %v", got, err)
	}

	ended := exec.Command("true")
	check(t, ended.Start())
	dead := marker.OwnerOf(ended.Process.Pid)
	check(t, ended.Wait())
	path := filepath.Join(o.dirs.Sessions, string(gid)+".ratchet.json")
	b, err := os.ReadFile(path)
	check(t, err)
	self := marker.OwnerOf(os.Getpid())
	text := strings.NewReplacer(`"ownerPid": `+strconv.Itoa(self.PID), `"ownerPid": `+strconv.Itoa(dead.PID), self.StartKey, "linux:1").Replace(string(b))
	check(t, os.WriteFile(path, []byte(text), 0o600))
	want := activities.ResolveResult{Reject: dispatch.BadTarget, Diagnostic: "it was claude, developer of run r-1, whose worker has ended"}
	if got, err := o.acts.Resolve(t.Context(), gid); err != nil || got != want {
		t.Errorf("after its death: %+v, %v", got, err)
	}
	check(t, os.Remove(path))
	if got, err := o.acts.Resolve(t.Context(), gid); err != nil || got.Backend != dispatch.Pi || got.Reject != "" {
		t.Errorf("a record of pi: %+v, %v", got, err)
	}
}
