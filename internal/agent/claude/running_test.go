package claude_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

const ours = "c4298a75-92be-4fbe-8490-1fcb9df6e406"

// entry is what a client says of itself while it runs.
type entry map[string]any

// mine is the entry of this very process.
func mine() entry {
	e := entry{"pid": os.Getpid(), "sessionId": ours, "cwd": "/w", "kind": "interactive", "status": "busy"}
	if key, ok := strings.CutPrefix(process.StartKey(os.Getpid()), "linux:"); ok {
		e["procStart"] = key
	}
	if machine, err := os.ReadFile("/etc/machine-id"); err == nil && process.Space() != "" {
		e["pidDomain"] = fmt.Sprintf("linux:%s:%s", strings.TrimSpace(string(machine)), process.Space())
	}
	return e
}

func (e entry) with(name string, value any) entry {
	e[name] = value
	return e
}

// The entries that decide are beside others that do not.
func TestRunning(t *testing.T) {
	for _, row := range []struct {
		name    string
		entries []any // what is no string is JSON
		want    bool
		doubt   string
	}{
		{"nobody", nil, false, ""},
		{"a client with another session", []any{mine().with("sessionId", "7c9e6679-7425-40de-944b-e07fc1f90ae7")}, false, ""},
		{"a client that has it", []any{mine()}, true, ""},
		{"a client that was killed", []any{mine().with("pid", proctest.Ended(t))}, false, ""},
		{"a later process of that number", []any{mine().with("procStart", "1")}, process.Space() == "", ""},
		{"a client of a container", []any{mine().with("pidDomain", "linux:elsewhere:pid:[1]")}, false, "another machine"},
		{"a client that names no domain", []any{mine().with("pidDomain", "")}, true, ""},
		{"an entry that is being written", []any{`{"pid":`}, false, "cannot be read"},
		{"an entry of nobody", []any{entry{"sessionId": ours}}, false, "names no process"},
		{"an entry of no session", []any{entry{"pid": os.Getpid()}}, false, "no session"},
		{"a client that has it, and an entry that cannot be read", []any{"?", mine()}, true, ""},
		{"an entry that cannot be read, and one that is stale", []any{"?", mine().with("pid", proctest.Ended(t))}, false, "cannot be read"},
	} {
		t.Run(row.name, func(t *testing.T) {
			home := t.TempDir()
			dir := filepath.Join(home, ".claude", "sessions")
			put(t, filepath.Join(dir, "1.0a1b.key"), "{")
			for i, e := range row.entries {
				text, ok := e.(string)
				if b, err := json.Marshal(e); !ok && err == nil {
					text = string(b)
				}
				put(t, filepath.Join(dir, fmt.Sprint(i, ".json")), text)
			}
			got, err := running(t, "HOME="+home)
			if got != row.want || (err != nil) != (row.doubt != "") || err != nil && !strings.Contains(err.Error(), row.doubt) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// A client that keeps no list proves nothing.
func TestRunningWithoutAList(t *testing.T) {
	home := t.TempDir()
	if got, err := running(t, "HOME="+home); got || err == nil {
		t.Errorf("no list: %v, %v", got, err)
	}
	put(t, filepath.Join(home, "elsewhere", "sessions", "1.json"), `{"pid":1`)
	if got, err := running(t, "HOME="+home, "CLAUDE_CONFIG_DIR="+home+"/elsewhere"); got || err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a directory of its own: %v, %v", got, err)
	}
	if got, err := running(t, "CLAUDE_CONFIG_DIR="+home+"/elsewhere/sessions/1.json"); got || err == nil {
		t.Errorf("no directory: %v, %v", got, err)
	}
}

func running(t *testing.T, environ ...string) (bool, error) {
	t.Helper()
	return claude.New(claude.Config{Environ: environ}).(agent.Prober).Running(ours)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The real client lists its session as long as it runs.
func TestTheRealClientRuns(t *testing.T) {
	binary := realBinary(t)
	a := realClient(t, binary, fakemodel.Start(t)).(agent.Prober)
	s, err := a.Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(t.Context())
	id := s.ID()
	if id == "" { // it is named by the first turn
		if err := s.Send(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		for e := range s.Events() {
			if _, over := e.(agent.Turn); over {
				break
			}
		}
		id = s.ID()
	}
	if got, err := a.Running(id); !got || err != nil {
		t.Errorf("while it runs: %v, %v", got, err)
	}
	if got, err := a.Running(ours); got || err != nil {
		t.Errorf("another session: %v, %v", got, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Running(id); got || err != nil {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}
