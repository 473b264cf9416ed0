package pi_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

const gid = "20261121T164402-0a1b2c"

// stateOf is what a session is found to be; FILE stands for its file.
func stateOf(id, file string, messages string) string {
	return `{"sessionId":"` + id + `","sessionFile":"` + file + `","messageCount":` + messages + `,"model":{"id":"m","provider":"p","contextWindow":1000}}`
}

func TestAResume(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		state string
		saved string // the session's file; empty for none
		o     agent.Options
		want  string // in the error; empty for none
	}{
		"a session that is there":    {stateOf(gid, "FILE", "2"), header, agent.Options{}, ""},
		"one that pi has just made":  {stateOf(gid, "FILE", "0"), "", agent.Options{}, agent.ErrNoSession.Error()},
		"one of another id":          {stateOf("x", "FILE", "2"), header, agent.Options{}, agent.ErrNoSession.Error()},
		"one that pi says little of": {`{"model":{"id":"m","provider":"p"}}`, "", agent.Options{}, ""},
		"one without a login":        {strings.Replace(stateOf(gid, "FILE", "2"), `"p"`, `"unknown"`, 1), header, agent.Options{}, "AUTH"},
		"a model that is kept":       {stateOf(gid, "FILE", "2"), header + changed("a", "", "p/m"), agent.Options{}, ""},
		"a model that is lost":       {stateOf(gid, "FILE", "2"), header + changed("a", "", "p/old"), agent.Options{}, "p/old is not available"},
		"a model that was chosen":    {stateOf(gid, "FILE", "2"), header + changed("a", "", "p/old"), agent.Options{Sticky: agent.Choice{Model: "p/m"}}, ""},
		"a model that was changed":   {stateOf(gid, "FILE", "2"), header + changed("a", "", "p/old") + changed("b", "a", "p/m"), agent.Options{}, ""},
		"a model that answered":      {stateOf(gid, "FILE", "2"), header + changed("a", "", "p/m") + answered("b", "a", "p/old"), agent.Options{}, "p/old is not available"},
		"a branch that was left":     {stateOf(gid, "FILE", "2"), header + changed("a", "", "p/m") + changed("b", "a", "p/old") + label("c", "a"), agent.Options{}, ""},
		"a line that is cut off":     {stateOf(gid, "FILE", "2"), header + changed("a", "", "p/m") + `{"type":"mod`, agent.Options{}, ""},
		"a last line without an end": {stateOf(gid, "FILE", "2"), header + strings.TrimSpace(changed("a", "", "p/old")), agent.Options{}, "p/old is not available"},
		"a state that is none":       {`[]`, header, agent.Options{}, "cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "s.jsonl")
			if tt.saved != "" {
				put(t, file, tt.saved)
			}
			f := newFake(t, script{State: strings.Replace(tt.state, "FILE", file, 1)})
			tt.o.Resume = gid
			s, err := f.adapter().Start(t.Context(), f.Options(tt.o))
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop(t.Context())
			if e, _ := agenttest.Until[agent.Started](t, s); e != (agent.Started{SessionID: gid, Resumed: true}) || s.ID() != gid {
				t.Errorf("%+v, the id is %q", e, s.ID())
			}
		})
	}
}

// An agent can write where its sessions lie: what it puts there instead must
// neither hold up the next start nor fill the memory.
func TestASavedSessionThatIsNone(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(file string) error{
		"a pipe":                func(file string) error { return unix.Mkfifo(file, 0o600) },
		"a device":              func(file string) error { return os.Symlink("/dev/zero", file) },
		"a line without an end": func(file string) error { return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<30)) },
		"a model that is huge": func(file string) error {
			return os.WriteFile(file, []byte(header+changed("a", "", "p/"+strings.Repeat("x", 33<<20))+changed("b", "", "p/"+strings.Repeat("y", 33<<20))), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "s.jsonl")
			if err := plant(file); err != nil {
				t.Fatal(err)
			}
			f := newFake(t, script{State: stateOf(gid, file, "2")})
			s, err := f.adapter().Start(t.Context(), f.Options(agent.Options{Resume: gid}))
			if err != nil {
				t.Fatal(err)
			}
			s.Stop(t.Context())
		})
	}
}

const header = `{"type":"session","version":3,"id":"` + gid + `","cwd":"/w"}` + "\n"

func changed(id, parent, model string) string {
	provider, name, _ := strings.Cut(model, "/")
	return `{"type":"model_change","id":"` + id + `","parentId":"` + parent + `","provider":"` + provider + `","modelId":"` + name + `"}` + "\n"
}

func answered(id, parent, model string) string {
	provider, name, _ := strings.Cut(model, "/")
	return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","message":{"role":"assistant","content":[],"provider":"` + provider + `","model":"` + name + `"}}` + "\n"
}

func label(id, parent string) string {
	return `{"type":"label","id":"` + id + `","parentId":"` + parent + `"}` + "\n"
}
