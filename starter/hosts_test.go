package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// hosts returns what `starter hosts` prints.
func (b bench) hosts() (list []runs.HostView) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.expect(0, "hosts", "--json").out), &list); err != nil {
		b.Fatal(err)
	}
	return list
}

func (b bench) serving(name string) bool {
	b.Helper()
	for _, h := range b.hosts() {
		if h.Name == name && h.Serving {
			return true
		}
	}
	return false
}

// TestRunOnAnotherHost joins a host with a runs directory of its own, starts a run there, and removes the host.
func TestRunOnAnotherHost(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	o := gittest.NewOrigin(t)
	file := "100644 blob " + o.Blob("bad\n") + "\tstate.txt\n100644 blob " + o.Blob("check = [\"grep -q good state.txt\"]\n") + "\t.ratchet.toml\n"
	o.Git("update-ref", "refs/heads/main", o.Git("commit-tree", "-m", "first", o.Tree(file)))
	b := bench{T: t, runsDir: filepath.Join(t.TempDir(), "runs")}
	start := func(code int, more ...string) result {
		t.Helper()
		return b.expect(code, append([]string{"run", "make it good", "--provider", "replay:" + answers(t), "--approve", "never", "--sandbox", "off", "--detach"}, more...)...)
	}
	b.expect(exit.Unreachable, "host", "join")
	defer bringUp(t, b.runsDir)()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	clitest.Must(t, err)
	if got := b.expect(exit.Failed, "host", "join", "--listen", l.Addr().String()); !strings.Contains(got.err, "address already in use") {
		t.Errorf("a port that another program has: %q", got.err)
	}
	b.expect(exit.Usage, "host", "join", "--listen", "nowhere")
	l.Close()
	eventually.Holds(t, "no other test has the port", func() bool {
		return !strings.Contains(b.starter("host", "join", "--listen", l.Addr().String()).err, "address already in use")
	})
	var invited struct{ Code, Command string }
	clitest.Must(t, json.Unmarshal([]byte(b.expect(0, "host", "join", "--listen", l.Addr().String(), "--json").out), &invited))

	there := host.Config{RunsDir: filepath.Join(t.TempDir(), "runs"), TaskQueue: temporalclient.QueueOf("laptop"), Environ: os.Environ(), Sandbox: run.SandboxOff}
	h, err := host.Open(t.Context(), there)
	clitest.Must(t, err)
	joined, err := h.Join(t.Context(), invited.Code, "laptop")
	clitest.Must(t, err)
	w, err := h.Serve(t.Context(), temporalclient.Options{RunsDir: there.RunsDir})
	clitest.Must(t, err)
	defer w.Stop()
	eventually.Holds(t, "both hosts serve", func() bool { return b.serving("laptop") && b.serving(host.Name(b.runsDir)) })
	if got := b.expect(0, "hosts"); !strings.Contains(got.out, "laptop") || !strings.Contains(got.out, "this engine's machine") || !strings.Contains(got.out, "sandbox off") {
		t.Errorf("the list:\n%s", got.out)
	}

	id := strings.TrimSpace(start(0, "--repo", o.FileURL(), "--host", "laptop").out)
	b.await(id, run.Completed)
	if got := o.Git("show", b.branch(id)+":state.txt"); got != "good" {
		t.Errorf("the branch on the server has %q, want good", got)
	}
	if _, err := os.Stat(filepath.Join(there.RunsDir, "workflows", id)); err != nil {
		t.Errorf("the record is not on the host that did the run: %v", err)
	}
	// The host itself looks and decides by the same engine.
	other := bench{T: t, runsDir: there.RunsDir}
	if got := other.expect(0, "status", id); !strings.Contains(got.out, "completed") {
		t.Errorf("status on the other host: %s", got.out)
	}
	if got := other.expect(exit.Failed, "host", "join"); !strings.Contains(got.err, "joined another as laptop") {
		t.Errorf("join on the joined host: %q", got.err)
	}

	for what, got := range map[string]result{
		"directory is on this machine": start(exit.Usage, "--repo", o.Dir, "--host", "laptop"),
		`no host "desk"`:               start(exit.Usage, "--repo", o.FileURL(), "--host", "desk"),
		"requires the sandbox":         b.starter("run", "make it good", "--provider", "replay:"+answers(t), "--repo", o.FileURL(), "--host", "laptop", "--sandbox", "required"),
	} {
		if got.code == 0 || !strings.Contains(got.err, what) {
			t.Errorf("got code %d, %q, want %q", got.code, got.err, what)
		}
	}
	waits := start(0, "--repo", o.FileURL(), "--host", "laptop", "--approve", "always")
	b.await(strings.TrimSpace(waits.out), run.AwaitingApproval)
	if got := b.expect(0, "status", strings.TrimSpace(waits.out)); !strings.Contains(got.out, "laptop") {
		t.Errorf("status: %q, want the host", got.out)
	}
	if got := b.expect(exit.Failed, "move", strings.TrimSpace(waits.out), "--host", host.Name(b.runsDir), "--yes"); !strings.Contains(got.err, "RATCHET_STORE is not set here") {
		t.Errorf("move without a bucket: %q", got.err)
	}
	if got := b.expect(0, "host", "remove", "laptop"); !strings.Contains(got.out, "1 open run waits") {
		t.Errorf("remove: %q, want the run that waits", got.out)
	}
	if err := joined.Await(t.Context()); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("the host was told %v, want that it was removed", err)
	}
	eventually.Holds(t, "the host is away", func() bool { return !b.serving("laptop") })
	other.expect(exit.Unreachable, "list")
	other.expect(exit.Failed, "up", "--sandbox", "off")
	b.expect(exit.Failed, "host", "remove", "laptop")
}
