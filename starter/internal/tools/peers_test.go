package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// quiet is a session that says nothing.
type quiet struct{}

func (quiet) Info(context.Context) (controlsocket.Info, error) { return controlsocket.Info{}, nil }

func (quiet) Send(context.Context, controlsocket.Message) (dispatch.Delivery, error) {
	return dispatch.Direct, nil
}

func (quiet) LastMessage(context.Context) (*controlsocket.LastMessage, error) { return nil, nil }

func (quiet) Abort(context.Context) error { return nil }

func (w *fixture) listens(t *testing.T, id dispatch.GardenID) {
	t.Helper()
	server, err := controlsocket.Listen(t.Context(), w.Dirs.Socket(id), quiet{})
	must(t, err)
	t.Cleanup(func() { server.Close() })
}

func TestPeers(t *testing.T) {
	w := newFixture(t)
	w.listens(t, live)
	must(t, os.WriteFile(filepath.Join(w.Dirs.Sessions, "note.meta.json"), []byte("{"), 0o600))
	c := w.connect(t)
	res := c.call("entwurf_peers", `{}`)
	want, err := peers.Scan(t.Context(), w.Dirs, controlsocket.Look)
	must(t, err)
	var got peers.Listing
	structured(t, res, &got)
	if said(t, res) != want.Text() || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n%+v\nwant %s", said(t, res), got, want.Text())
	}
	for line, liveness := range map[string]string{string(live): "alive", string(gone): "dead", string(claude): "unsupported", "note.meta.json": "meta-record-read-error"} {
		if !strings.Contains(said(t, res), line) || !strings.Contains(said(t, res), liveness) {
			t.Errorf("no %s, %s", line, liveness)
		}
	}
}

func TestPeersAreFactsOnly(t *testing.T) {
	w := newFixture(t)
	w.listens(t, live)
	c := w.connect(t)
	whole, err := json.Marshal(c.call("entwurf_peers", `{}`))
	must(t, err)
	tool, err := json.Marshal(c.tools()["entwurf_peers"])
	must(t, err)
	for _, word := range []string{"sendable", "resumable", "dispatch", "action", "transport", "mailboxdeliverable"} {
		if text := strings.ToLower(string(whole) + string(tool)); strings.Contains(text, word) {
			t.Errorf("%s is in %s", word, text)
		}
	}
}

func TestSelf(t *testing.T) {
	rows := []struct {
		name   string
		setUp  func(t *testing.T, w *fixture)
		id     string
		agent  string
		socket citizen.SocketState
		reach  bool
	}{
		{"a citizen by its process", func(t *testing.T, w *fixture) { w.isClaude(t) }, string(claude), "meta-session/claude-code", citizen.SocketNone, false},
		{"one whose mail is read", func(t *testing.T, w *fixture) { w.isClaude(t); w.reads(t) }, string(claude), "meta-session/claude-code", citizen.SocketNone, true},
		{"pi by its environment", func(t *testing.T, w *fixture) {
			w.vars["PI_SESSION_ID"], w.vars["PI_AGENT_ID"] = string(live), "pi/opus"
			w.listens(t, live)
		}, string(live), "pi/opus", citizen.SocketAlive, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newFixture(t)
			row.setUp(t, w)
			res := w.connect(t).call("entwurf_self", `{}`)
			var self, text citizen.Self
			structured(t, res, &self)
			must(t, json.Unmarshal([]byte(said(t, res)), &text))
			if self.SessionID != row.id || self.AgentID != row.agent || self.Socket != row.socket || *self.Replyable != row.reach || !reflect.DeepEqual(self, text) {
				t.Errorf("%+v, %s", self, said(t, res))
			}
		})
	}
}

func TestNobodyHasNoSelf(t *testing.T) {
	w := newFixture(t)
	c := w.connect(t)
	if line := c.refused("entwurf_self", `{}`); !strings.Contains(line, citizen.ErrAnonymous.Error()) {
		t.Errorf("%q", line)
	}
	w.isClaude(t) // who becomes one is seen at once
	if res := c.call("entwurf_self", `{}`); res.IsError {
		t.Error(said(t, res))
	}
}

// reads has somebody watch the mailbox of claude.
func (w *fixture) reads(t *testing.T) {
	t.Helper()
	who := marker.Citizen{GardenID: claude, Backend: dispatch.ClaudeCode, NativeSessionID: string(claude)}
	must(t, marker.WriteReceiver(w.Dirs.Receivers, marker.Receiver{Citizen: who, Owner: marker.OwnerOf(os.Getpid()), Provenance: marker.SessionStart}, noon))
}
