package codex_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

func TestALockedDatabaseIsWaitedFor(t *testing.T) {
	const locked = "Error: failed to open state DB: (code: 5) database is locked\n"
	for name, tt := range map[string]struct {
		deaths string // what the processes die of, a line each
		left   string // deaths that nobody died
		ok     bool
	}{
		"once":                 {"1 " + locked, "", true},
		"three times":          {strings.Repeat("1 "+locked, 3), "", true},
		"four times":           {strings.Repeat("1 "+locked, 5), "1 " + locked, false},
		"something else":       {"1 Error: no such home\n" + "1 " + locked, "1 " + locked, false},
		"and then another one": {"1 " + locked + "1 Error: no such home\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			file := filepath.Join(t.TempDir(), "deaths")
			write(t, file, tt.deaths)
			c := serve(t, func(p *peer) {
				p.greet()
				p.rest()
			})
			c.Environ = append(c.Environ, dieVariable+"="+file)
			s, err := codex.New(c).Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite, Log: &log})
			if err == nil {
				s.Stop(t.Context())
			}
			if e, ok := errors.AsType[*failure.Error](err); (err == nil) != tt.ok || err != nil && (!ok || !e.Retriable || !strings.Contains(e.Message, "exit code 1: ")) {
				t.Errorf("error %v", err)
			}
			if left, _ := os.ReadFile(file); string(left) != tt.left {
				t.Errorf("left are %q", left)
			}
			if !strings.Contains(log.String(), "Error: ") {
				t.Errorf("logged %q", log.String())
			}
		})
	}
}

func TestStartsThatFail(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "text"), "no program")
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := serve(t, func(p *peer) {
		p.answer(p.expect("initialize"), `{}`)
		p.rest()
	})
	for name, tt := range map[string]struct {
		binary string
		change func(*agent.Options)
		is     error
		code   failure.Code
		says   string
	}{
		"no program on PATH":          {binary: "ratchet-no-such-program", is: agent.ErrUnavailable, says: "no program ratchet-no-such-program in /usr/bin, /bin"},
		"no program at a path":        {binary: filepath.Join(dir, "none"), is: agent.ErrUnavailable, says: filepath.Join(dir, "none")},
		"a file that is no program":   {binary: filepath.Join(dir, "text"), is: agent.ErrUnavailable},
		"a program that does not run": {binary: broken, is: agent.ErrUnavailable, says: broken},
		"a relative directory":        {change: func(o *agent.Options) { o.Dir = "." }, code: failure.BadRequest},
		"a directory that is a file":  {change: func(o *agent.Options) { o.Dir = filepath.Join(dir, "text") }, code: failure.BadRequest},
		"a server that is not there":  {change: func(o *agent.Options) { o.Servers = map[string]setup.Server{"x": {Command: "ratchet-no-such"}} }, code: failure.BadRequest, says: "MCP server x"},
		"a mode of another agent":     {change: func(o *agent.Options) { o.Sticky.Mode = "plan" }, code: failure.BadRequest, says: "read-only"},
		"a mode that would widen":     {change: func(o *agent.Options) { o.Sticky.Mode = "full-access" }, code: failure.BadRequest, says: "wider"},
	} {
		t.Run(name, func(t *testing.T) {
			c := c
			if tt.binary != "" {
				c.Binary = tt.binary
			}
			o := agent.Options{Dir: dir, Sandbox: agent.WorkspaceWrite}
			if tt.change != nil {
				tt.change(&o)
			}
			s, err := codex.New(c).Start(t.Context(), o)
			if err == nil {
				s.Stop(t.Context())
				t.Fatal("started")
			}
			e, _ := errors.AsType[*failure.Error](err)
			if tt.is != nil && !errors.Is(err, tt.is) || tt.code != "" && (e == nil || e.Code != tt.code) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAHandshakeThatHangsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	c := serve(t, func(p *peer) {
		p.answer(p.expect("initialize"), `{}`)
		p.expect("initialized")
		p.expect("thread/start")
		cancel()
		p.rest()
		close(ended)
	})
	if s, err := codex.New(c).Start(ctx, agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}); !errors.Is(err, context.Canceled) {
		t.Errorf("started %v, error %v", s, err)
	}
	select {
	case <-ended:
	case <-soon():
		t.Error("the process is left")
	}
}
