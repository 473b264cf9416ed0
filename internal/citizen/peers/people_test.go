package peers_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

func TestPeople(t *testing.T) {
	opus := "opus"
	l := peers.Listing{
		Peers: []peers.Peer{
			{GardenID: id(1), Backend: dispatch.Pi, CWD: "/w", Liveness: dispatch.Alive, Ours: &dispatch.About{
				Agent: "codex", Model: "gpt-5", Run: "0198", Name: "shop#3", Role: "developer", Goal: "Make the\x1b[2J test pass",
			}},
			{GardenID: id(2), Backend: dispatch.ClaudeCode, CWD: "/mine", Model: &opus, Liveness: dispatch.Unsupported},
			{GardenID: id(3), Backend: dispatch.ClaudeCode, CWD: "/ended", Liveness: dispatch.Unsupported},
			{GardenID: id(4), Backend: dispatch.Pi, CWD: "/old", Liveness: dispatch.Dead},
		},
		SocketOnly: []peers.Socket{{GardenID: id(5), Liveness: dispatch.Alive}, {GardenID: id(6), Liveness: dispatch.Dead}},
	}
	readsMail := func(p peers.Peer) bool { return p.GardenID == id(2) }
	want := `Agent sessions that can be reached:

20260612T093000-000001  codex/gpt-5, developer of run shop#3
  for  "Make the\x1b[2J test pass"
  in   /w

20260612T093000-000002  claude-code, opus
  in   /mine

20260612T093000-000005  it listens, but does not identify itself

2 more do not run, or their state is unknown: starter peers --all

Send one a message: starter dispatch ID --intent fire-and-forget --message TEXT
`
	if got := l.People(readsMail, false); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	all := l.People(readsMail, true)
	for _, text := range []string{"000003  claude-code\n  in   /ended", "000004  pi\n  in   /old"} {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not in\n%s", text, all)
		}
	}
}

func TestAnEmptyListingExplainsItself(t *testing.T) {
	none := func(peers.Peer) bool { return false }
	for name, l := range map[string]peers.Listing{
		"nobody":        {},
		"nobody reads":  {Peers: []peers.Peer{{GardenID: id(2), Backend: dispatch.ClaudeCode, Liveness: dispatch.Unsupported}}},
		"all are ended": {Peers: []peers.Peer{{GardenID: id(2), Backend: dispatch.Pi, Liveness: dispatch.Dead}}},
	} {
		got := l.People(none, false)
		for _, want := range []string{"No agent session here can be reached yet. To make one reachable:", "starter register claude", "starter run"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, got)
			}
		}
		for _, word := range []string{"citizen", "garden", "doorbell"} {
			if strings.Contains(strings.ToLower(got), word) {
				t.Errorf("%s: it speaks of a %s", name, word)
			}
		}
	}
}
