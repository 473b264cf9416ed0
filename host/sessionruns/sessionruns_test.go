package sessionruns_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	sessionacts "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/host/sessionruns"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// fixture is a session whose agent is this process. No engine is reached.
type fixture struct {
	sessionacts.Caller
	asked int // how often a permission was
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	repo := t.TempDir()
	gittest.Run(t, repo, "init", "-q")
	gittest.Run(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	template := session.Tighten(run.Input{
		Repository: run.Repository{Path: repo}, Checks: []string{"true"}, Providers: run.Providers{Planner: "claude", Developer: "claude", Fixer: "claude"},
	})
	f := &fixture{}
	f.Caller = sessionacts.Caller{
		Session: session.Input{ID: "s-1", Repository: template.Repository, Runs: &session.Grant{Run: template, Total: 2, AtOnce: 1}}, Dir: t.TempDir(),
		Owns:    func(pid int) bool { return pid == os.Getpid() },
		Message: func() (string, error) { return "m1", nil },
		Permit: func(_ context.Context, message string, _ agent.Permission) error {
			f.asked++
			if message != "m1" {
				return fmt.Errorf("asked in the turn of %s", message)
			}
			return errors.New("refused by a person")
		},
	}
	return f
}

// serve serves the session until the test ends, and returns the path of the socket.
func (f *fixture) serve(t *testing.T) string {
	t.Helper()
	b, closeAll, err := (&sessionruns.Server{RunsDir: t.TempDir(), Queue: "q"}).Serve(f.Caller)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	return b.Socket
}

// connect makes this process a client of the socket.
func connect(t *testing.T, socket string) *mcp.ClientSession {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: conn, Writer: conn}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// call returns the text of an answer, or of its error.
func call(t *testing.T, s *mcp.ClientSession, tool string, input any) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: input})
	if err != nil {
		return err.Error()
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func TestOnlyTheAgentCallsItsTools(t *testing.T) {
	f := newFixture(t)
	if got := call(t, connect(t, f.serve(t)), "ratchet_runs", nil); !strings.Contains(got, `"runs":[]`) {
		t.Errorf("the agent itself: %s", got)
	}
	f.Owns = func(int) bool { return false }
	s := connect(t, f.serve(t))
	for _, tool := range []string{"ratchet_runs", "ratchet_run", "ratchet_run_wait", "ratchet_run_start"} {
		if got := call(t, s, tool, map[string]string{"goal": "x", "run": "x"}); !strings.Contains(got, "another session") {
			t.Errorf("%s: %s", tool, got)
		}
	}
	if list, err := s.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 4 {
		t.Errorf("the list: %v, %v", list, err)
	}
	if f.asked > 0 {
		t.Errorf("a person was asked %d times", f.asked)
	}
}

func TestTheSocketIsTheUsersAlone(t *testing.T) {
	socket := newFixture(t).serve(t)
	for path, want := range map[string]fs.FileMode{socket: 0o600, filepath.Dir(socket): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestARefusedStartLeavesNothing refuses starts for each reason. No person is asked unless one is to decide.
func TestARefusedStartLeavesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*fixture)
		goal   string
		want   string
		asked  int
	}{
		"by a person":       {func(*fixture) {}, "x", "refused by a person", 1},
		"in a delivery":     {func(f *fixture) { f.Message = func() (string, error) { return "", errors.New("reads a result") } }, "x", "reads a result", 0},
		"a control":         {func(*fixture) {}, "x\x1b[2J", "not printable", 0},
		"a repository lost": {func(f *fixture) { f.Session.Repository.Path = "/nowhere" }, "x", "repository", 0},
		"a loose grant":     {func(f *fixture) { f.Session.Runs.Run.Policy = run.Never }, "x", "needs an approval", 0},
		"too many": {func(f *fixture) {
			text := `{"runs":[{"id":"a"},{"id":"b"}]}`
			if err := os.WriteFile(filepath.Join(f.Dir, "runs.json"), []byte(text), 0o600); err != nil {
				panic(err)
			}
		}, "x", "its limit", 0},
		"a list that cannot be read": {func(f *fixture) {
			if err := os.WriteFile(filepath.Join(f.Dir, "runs.json"), []byte("{"), 0o600); err != nil {
				panic(err)
			}
		}, "x", "read the list", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			tt.change(f)
			before, _ := os.ReadFile(filepath.Join(f.Dir, "runs.json"))
			if got := call(t, connect(t, f.serve(t)), "ratchet_run_start", map[string]string{"goal": tt.goal}); !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("%s", got)
			}
			if after, _ := os.ReadFile(filepath.Join(f.Dir, "runs.json")); string(after) != string(before) {
				t.Errorf("the list was %q and is %q", before, after)
			}
			if f.asked != tt.asked {
				t.Errorf("a person was asked %d times, want %d", f.asked, tt.asked)
			}
		})
	}
}

// TestAFloodIsBounded holds more calls than there may be: the others are refused, and served once there is room.
func TestAFloodIsBounded(t *testing.T) {
	f := newFixture(t)
	entered, release := make(chan bool, 100), make(chan bool)
	f.Message = func() (string, error) { entered <- true; <-release; return "", errors.New("over") }
	s := connect(t, f.serve(t))
	answers := make(chan string, 100)
	start := func() { answers <- call(t, s, "ratchet_run_start", map[string]string{"goal": "x"}) }
	for range 8 {
		go start()
		<-entered
	}
	if got := call(t, s, "ratchet_runs", nil); !strings.Contains(got, "8 calls are in progress") {
		t.Errorf("the ninth call: %s", got)
	}
	close(release)
	for range 8 {
		<-answers
	}
	if got := call(t, s, "ratchet_runs", nil); !strings.Contains(got, `"runs":[]`) {
		t.Errorf("afterwards: %s", got)
	}
}

// TestMoreConnectionsWait holds as many connections as there may be. A further one is served once one of them has ended.
func TestMoreConnectionsWait(t *testing.T) {
	socket := newFixture(t).serve(t)
	var held []*mcp.ClientSession
	for range 8 {
		held = append(held, connect(t, socket))
	}
	served := make(chan bool)
	go func() {
		defer close(served)
		call(t, connect(t, socket), "ratchet_runs", nil)
	}()
	for range 100 { // more than the further one would need
		call(t, held[0], "ratchet_runs", nil)
	}
	select {
	case <-served:
		t.Error("a ninth connection is served beside eight")
	default:
	}
	held[1].Close()
	<-served
}

func TestAClosedServerAnswersNobody(t *testing.T) {
	f := newFixture(t)
	b, closeAll, err := (&sessionruns.Server{RunsDir: t.TempDir()}).Serve(f.Caller)
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, b.Socket)
	closeAll()
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "ratchet_runs"}); err == nil {
		t.Error("a call is answered")
	}
	if _, err := os.Stat(filepath.Dir(b.Socket)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}
