package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/pty"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/register"
)

// person is a session of the real Claude Code in a terminal, with a home in which no program of the registry's
// family was ever installed.
type person struct {
	agentHost
	terminal *pty.Terminal
	shown    captured.Output
	model    *fakemodel.Server
}

func newPerson(t *testing.T, client string) *person {
	t.Helper()
	home, err := os.MkdirTemp("", "m")
	clitest.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	p := &person{agentHost: agentHost{T: t, home: home, runsDir: filepath.Join(t.TempDir(), ".runs")}, model: fakemodel.Start(t)}
	program, work := filepath.Join(home, "bin", "starter"), filepath.Join(home, "work")
	clitest.Must(t, os.MkdirAll(work, 0o700))
	self, err := filepath.Abs(os.Args[0])
	clitest.Must(t, err)
	clitest.Write(t, program, fmt.Sprintf("#!/bin/sh\n%s=1 GORACE=atexit_sleep_ms=0 exec '%s' \"$@\"\n", asProgram, self))
	clitest.Must(t, os.Chmod(program, 0o755))
	clitest.Write(t, filepath.Join(home, ".claude.json"), fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark",
		"customApiKeyResponses":{"approved":["sk-ant-dummy"],"rejected":[]},"projects":{%q:{"hasTrustDialogAccepted":true}}}`, work))
	settings, err := register.SettingsOf(func(name string) string { return map[string]string{"HOME": home}[name] })
	clitest.Must(t, err)
	change, err := settings.Install(program)
	clitest.Must(t, err)
	clitest.Must(t, change.Make())

	cmd := exec.Command(client, "--model", "claude-sonnet-4-5")
	cmd.Dir = work
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8", "TMPDIR=" + t.TempDir(),
		"ANTHROPIC_BASE_URL=" + p.model.URL, "ANTHROPIC_API_KEY=sk-ant-dummy", "CLAUDE_CODE_MAX_RETRIES=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
	}
	p.terminal, err = pty.Start(cmd, 110, 40)
	clitest.Must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&p.shown, p.terminal)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		p.terminal.Close()
		<-done
		if t.Failed() {
			t.Logf("shown:\n%q", p.shown.String())
		}
	})
	return p
}

// reachable returns the ids of the sessions that `starter peers` says can be reached.
func (p *person) reachable() (ids []dispatch.GardenID) {
	p.Helper()
	var l peers.Listing
	r := p.runs("", "peers", "--json")
	if r.code != 0 || json.Unmarshal([]byte(r.out), &l) != nil {
		p.Fatalf("peers: %+v", r)
	}
	text := p.runs("", "peers").out
	for _, peer := range l.Peers {
		if strings.Contains(text, "\n"+string(peer.GardenID)+"  claude-code") {
			ids = append(ids, peer.GardenID)
		}
	}
	return ids
}

// heard reports whether the model was given a text.
func (p *person) heard(text string) bool {
	for _, q := range p.model.Requests() {
		if strings.Contains(q.Text(), text) {
			return true
		}
	}
	return false
}

func TestASessionOfAPersonIsReached(t *testing.T) {
	need.Suite(t, need.Nightly)
	client := need.Env(t, "CLAUDE_BIN")
	p := newPerson(t, client)
	if r := p.runs("", "peers"); r.code != 0 || p.shown.String() == "" && !strings.Contains(r.out, "can be reached yet") {
		t.Errorf("%+v", r)
	}
	t.Cleanup(p.starts(run.SandboxOff))
	var ids []dispatch.GardenID
	eventually.Holds(t, "the session is reachable", func() bool { ids = p.reachable(); return len(ids) == 1 })
	r := p.runs("", "dispatch", string(ids[0]), "--intent", "fire-and-forget", "--message", "the build is heliotrope")
	if r.code != 0 || !strings.Contains(r.out, "enqueued by meta-mailbox") {
		t.Fatalf("%+v", r)
	}
	eventually.Holds(t, "the session is woken", func() bool { return p.heard("1 unread message for " + string(ids[0])) })
	if p.heard("heliotrope") {
		t.Error("the announcement says what the message says")
	}
	if r := p.runs("", "inbox", "read", string(ids[0])); r.code != 0 || !strings.Contains(r.out, "the build is heliotrope") {
		t.Errorf("%+v", r)
	}
	clitest.Must(t, p.terminal.Close())
	eventually.Holds(t, "the session that has ended is not reachable", func() bool { return len(p.reachable()) == 0 })
	r = p.runs("", "dispatch", string(ids[0]), "--intent", "fire-and-forget", "--message", "late")
	if r.code != 1 || !strings.Contains(r.out, "mailbox-undeliverable") {
		t.Errorf("%+v", r)
	}
}
