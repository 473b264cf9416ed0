package claude_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// TestIds is the table of docs/contracts/agent.md, 1, and CLIENT.md, 8.
func TestIds(t *testing.T) {
	t.Parallel()
	target, minted, other := uuid.NewString(), uuid.NewString(), uuid.NewString()
	named := func(id string) string { return strings.Replace(initLine, "@ID@", id, 1) }
	failed := `{"type":"result","is_error":true,"result":"no"}`
	hook := `{"type":"system","subtype":"hook_started","session_id":"` + other + `"}`
	tests := map[string]struct {
		resume string
		turns  [][]string
		want   []string // the ids that are told; empty stands for ours
	}{
		"a fresh session":                            {"", [][]string{plain, plain}, []string{""}},
		"a fresh session that is called otherwise":   {"", [][]string{{named(other), resultLine}, {named(other), resultLine}}, []string{"", other}},
		"a resume under the same id":                 {target, [][]string{plain, plain}, []string{target}},
		"a resume under a minted id":                 {target, [][]string{{named(minted), "transcript " + minted, resultLine}}, []string{minted}},
		"a minted id in a turn that fails":           {target, [][]string{{named(minted), "transcript " + minted, failed}}, nil},
		"a minted id without a transcript":           {target, [][]string{{named(minted), resultLine}, {named(minted), resultLine}}, nil},
		"a minted id whose transcript comes later":   {target, [][]string{{named(minted), resultLine}, {named(minted), "transcript " + minted, resultLine}}, []string{minted}},
		"a minted id that leads out of the projects": {target, [][]string{{named("../x"), "transcript ../x", resultLine}}, nil},
		"a new id in the middle, as after /clear":    {"", [][]string{plain, {named(other), "transcript " + other, resultLine}, {named(other), resultLine}}, []string{"", other}},
		"ids of hooks":                               {target, [][]string{{hook, initLine, hook, resultLine}}, []string{target}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{Turns: tt.turns})
			s := f.start(t, agent.Options{Resume: tt.resume})
			first := s.ID()
			var told []agent.Started
			for range tt.turns {
				_, events := agenttest.Turn(t, s, "go")
				told = append(told, agenttest.All[agent.Started](events)...)
			}
			var want []agent.Started
			last := first
			for _, id := range tt.want {
				if id == "" {
					id = first
				}
				want = append(want, agent.Started{SessionID: id, Resumed: tt.resume != ""})
				last = id
			}
			if !reflect.DeepEqual(told, want) || s.ID() != last {
				t.Errorf("told %+v, the id is %s\nwant %+v", told, s.ID(), want)
			}
			if tt.resume != "" && first != tt.resume {
				t.Errorf("resumed as %s", first)
			}
		})
	}
}

func TestTheSessionIsUnknown(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	const said = "No conversation found with session ID: x"
	result := `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["` + said + `"]}`
	tests := map[string]struct {
		resume string
		script script
	}{
		"it says so in a result":            {id, script{Start: []string{result, "exit 1 gone"}}},
		"it says so on standard error":      {id, script{Start: []string{"exit 1 " + said}}},
		"it says so in the first turn":      {id, script{Turns: [][]string{{result, "exit 1 gone"}}}},
		"it ends with it in the first turn": {id, script{Turns: [][]string{{"exit 1 " + said}}}},
		"it could be a title":               {"my session", script{}},
		"it could be a flag":                {"--help", script{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, tt.script)
			if tt.script.Turns == nil {
				if s, err := adapter(f).Start(t.Context(), f.Options(agent.Options{Resume: tt.resume})); !errors.Is(err, agent.ErrNoSession) || s != nil {
					t.Errorf("got %v, %v", s, err)
				}
				return
			}
			s := f.start(t, agent.Options{Resume: tt.resume})
			if got, _ := agenttest.Turn(t, s, "go"); got.Status != agent.Failed || !errors.Is(got.Err, agent.ErrNoSession) {
				t.Errorf("got %+v", got)
			}
			agenttest.Until[agent.Exit](t, s)
		})
	}
}

// TestSessionThatNeverHeardItsTask is a client that was killed before it wrote
// the first message down: its session is begun anew, with the task.
func TestSessionThatNeverHeardItsTask(t *testing.T) {
	id := uuid.NewString()
	for name, tc := range map[string]struct {
		transcript string
		refused    bool
	}{
		"no line at all":               {"", true},
		"the client's own lines":       {`{"type":"queue-operation"}` + "\n" + `{"type":"summary"}` + "\n", true},
		"a message":                    {`{"type":"queue-operation"}` + "\n" + `{"type":"user"}` + "\n", false},
		"a message without a line end": {`{"type":"user"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{})
			dir := filepath.Join(f.Home, ".claude", "projects", "-somewhere")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(tc.transcript), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := adapter(f).Start(t.Context(), agent.Options{Dir: f.Work, Sandbox: agent.WorkspaceWrite, Resume: id})
			if err == nil {
				t.Cleanup(func() { _ = s.Stop(context.Background()) })
			}
			if refused := errors.Is(err, agent.ErrNoSession); refused != tc.refused {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An agent can write where its transcripts lie: what it puts there instead must
// neither hold up the next start nor fill the memory.
func TestATranscriptThatIsNone(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	for name, plant := range map[string]func(projects string) error{
		"a pipe": func(p string) error {
			return errors.Join(os.MkdirAll(filepath.Join(p, "!"), 0o700), unix.Mkfifo(filepath.Join(p, "!", id+".jsonl"), 0o600))
		},
		"a device": func(p string) error {
			return errors.Join(os.MkdirAll(filepath.Join(p, "!"), 0o700), os.Symlink("/dev/zero", filepath.Join(p, "!", id+".jsonl")))
		},
		"a pipe for the projects": func(p string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), unix.Mkfifo(p, 0o600))
		},
		"a line without an end": func(p string) error {
			path := filepath.Join(p, "!", id+".jsonl")
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<30))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{})
			if err := plant(filepath.Join(f.Home, ".claude", "projects")); err != nil {
				t.Fatal(err)
			}
			f.start(t, agent.Options{Resume: id}) // the client decides
		})
	}
}
