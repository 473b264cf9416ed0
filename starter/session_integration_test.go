package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// talker is an ACP agent that tells its mode and what it was told. A message that waits leaves the file told beside
// the agent, and is answered when the file go lies there.
const talker = `#!/bin/sh
mode=default
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	modes='"modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Default"},{"id":"plan","name":"Plan"}]}'
	case $line in
	*'"initialize"'*) r='{"protocolVersion":1,"agentInfo":{"name":"talker","version":"1"},"agentCapabilities":{"loadSession":true}}' ;;
	*'"session/new"'*) r='{"sessionId":"s-1",'$modes'}' ;;
	*'"session/load"'*) r='{'$modes'}' ;;
	*'"session/set_mode"'*) mode=$(printf %s "$line" | sed -n 's/.*"modeId":"\([a-z]*\)".*/\1/p') r='{}' ;;
	*'"session/prompt"'*)
		said=$(printf %s "$line" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
		case $said in *wait*) : >"${0%/*}/told"; until [ -e "${0%/*}/go" ]; do sleep 0.05; done ;;
		*'ask me'*)
			printf '{"jsonrpc":"2.0","id":900,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c-1","title":"make","kind":"execute","rawInput":{"command":"make"}},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"},{"optionId":"r","name":"Reject","kind":"reject_once"}]}}\n'
			read -r reply ;;
		esac
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s: %s"}}}}\n' "$mode" "$said"
		r='{"stopReason":"end_turn"}' ;;
	*) continue ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`

// talk is a session of the talker, on a real engine.
type talk struct {
	bench
	dir string // of the agent
	id  string
}

func newTalk(t *testing.T) talk {
	t.Helper()
	b := talk{bench: bench{T: t, runsDir: filepath.Join(t.TempDir(), ".runs"), repo: clitest.Repository(t)}, dir: t.TempDir()}
	clitest.Write(t, filepath.Join(b.dir, "agent"), talker)
	clitest.Must(t, os.Chmod(filepath.Join(b.dir, "agent"), 0o700))
	return b
}

func (b *talk) startSession(more ...string) {
	b.Helper()
	args := []string{"session", "start", "--provider", "acp:" + filepath.Join(b.dir, "agent"), "--sandbox", "off", "--repo", b.repo, "--title", "a talk"}
	b.id = strings.TrimSpace(b.expect(0, append(args, more...)...).out)
}

func (b talk) show() (s session.Snapshot) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.expect(0, "session", "show", b.id, "--json").out), &s); err != nil {
		b.Fatal(err)
	}
	return s
}

func (b talk) says(want string, args ...string) {
	b.Helper()
	if got := b.expect(0, args...); !strings.Contains(got.out, want) {
		b.Errorf("%v: %q, want %q", args, got.out, want)
	}
}

func TestCommandsOfASession(t *testing.T) {
	t.Parallel()
	b := newTalk(t)
	bringUp(t, b.runsDir)
	if r := b.expect(1, "session", "start", "--provider", "acp:no-such-agent", "--sandbox", "off", "--repo", b.repo); !strings.Contains(r.err, "no program no-such-agent") {
		t.Errorf("a session with an agent that is not installed: got %q, want that it is missing", r.err)
	}
	b.startSession()
	eventually.Holds(t, "lists know the session", func() bool { return strings.Contains(b.expect(0, "session", "list", "--json").out, b.id) })
	b.says("default: hello", "session", "say", "1", "hello")
	b.says("mode plan", "session", "set", b.id, "--mode", "plan")
	b.says("plan: again", "session", "say", b.id, "again")
	b.says("default: once", "session", "say", b.id, "once", "--mode", "default")
	b.says("plan: and again", "session", "say", b.id, "and again")
	b.says("mode plan", "session", "show", b.id)
	b.says("a talk", "session", "list")
	if got := b.starter("session", "set", b.id, "--mode", "two words"); got.code != exit.Failed || !strings.Contains(got.err, "want one word") {
		t.Errorf("%+v", got)
	}
	b.says("taken", "session", "say", b.id, "ask me", "--detach")
	eventually.Holds(t, "the list names the session that asks", func() bool {
		out := b.expect(0, "list").out
		return strings.Contains(out, "Needs you") && strings.Contains(out, b.id+"  allow  ")
	})
	var waiting []inbox.Entry
	if err := json.Unmarshal([]byte(b.expect(0, "review", "--json").out), &waiting); err != nil || len(waiting) != 1 || waiting[0].Name != b.id || waiting[0].Command != "starter review "+b.id {
		t.Errorf("got %+v, %v, want the session alone", waiting, err)
	}
	b.expect(0, "session", "decide", b.id, "reject")
	eventually.Holds(t, "the list no longer names it", func() bool { return !strings.Contains(b.expect(0, "list").out, b.id) })
	b.says("taken", "session", "say", b.id, "wait a minute", "--detach")
	b.says("once the current turn has ended", "session", "set", b.id, "--mode", "", "--model", "")
	b.says("this turn by the agent's own model, mode plan", "session", "show", b.id)
	eventually.Holds(t, "the turn is interrupted", func() bool { // once the agent has the message
		got := b.starter("session", "interrupt", b.id)
		return got.code == 0 && strings.Contains(got.out, "interrupted")
	})
	b.says("stopped", "session", "stop", b.id)
	eventually.Holds(t, "the session sleeps", func() bool { return b.show().State == session.Asleep })
	b.says("default: good morning", "session", "say", b.id, "good morning")
	b.says("", "session", "diff", b.id)
	b.says("retired", "session", "retire", b.id)
	eventually.Holds(t, "the session is retired", func() bool {
		var found []sessions.Listed
		out := b.expect(0, "session", "list", "--all", "--json").out
		return json.Unmarshal([]byte(out), &found) == nil && len(found) == 1 && found[0].State == session.Retired
	})
	if got := b.starter("session", "say", b.id, "hello"); got.code != exit.Failed || !strings.Contains(got.err, "retired") {
		t.Errorf("%+v", got)
	}
}

// TestASessionIsFollowedToAnotherEngine ends engine and worker while a person waits for an answer, and starts them again
// at other ports. An agent that was heard before would be asked to go on: this one was not.
func TestASessionIsFollowedToAnotherEngine(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	b := newTalk(t)
	stop := bringUp(t, b.runsDir)
	b.startSession()
	var out, errs captured.Output
	c := newFactory(console.Console{Args: []string{"session", "say", b.id, "wait for me", "--runs-dir", b.runsDir}, In: strings.NewReader(""), Out: &out, Err: &errs, Environ: os.Environ(), Now: time.Now})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- c.Run(ctx) }()
	eventually.Holds(t, "the agent is told", func() bool { _, err := os.Stat(filepath.Join(b.dir, "told")); return err == nil })
	stop()
	clitest.Write(t, filepath.Join(b.dir, "go"), "")
	bringUp(t, b.runsDir)
	select {
	case code := <-ended:
		if code != exit.Failed || !strings.Contains(errs.String(), "the message ended as unknown") {
			t.Errorf("code %d: %s%s", code, out.String(), errs.String())
		}
	case <-time.After(5 * time.Minute):
		t.Errorf("it waits still: %s", errs.String())
	}
	b.says("default: hello", "session", "say", b.id, "hello")
}

func TestBadInputOfSessions(t *testing.T) {
	repo := clitest.Repository(t)
	t.Chdir(t.TempDir())
	start := func(more ...string) []string {
		return append([]string{"session", "start", "--repo", repo}, more...)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no command", []string{"session", "frobnicate"}, 2, "a command: start, list"},
		{"no agent", start(), 2, "name one with --provider"},
		{"an agent that is unknown", start("--provider", "nonsense"), 2, "unknown kind of provider"},
		{"a provider that keeps no session", start("--provider", "anthropic:opus"), 2, "keeps no session"},
		{"an option that the agent lacks", start("--provider", "pi", "--mode", "plan"), 2, "pi does not support a mode"},
		{"a mode that is a flag", start("--provider", "claude", "--mode", "--yolo"), 2, "one word"},
		{"an id that is a path", start("--provider", "claude", "--id", "../x"), 2, "session id"},
		{"a budget below zero", start("--provider", "claude", "--max-tokens", "-1"), 2, "below zero"},
		{"a word that is no policy", start("--provider", "claude", "--tools", "some"), 2, "ask, allow or deny"},
		{"a title of two lines", start("--provider", "claude", "--title", "a\nb"), 2, "one line"},
		{"nothing to set", []string{"session", "set", "x"}, 2, "give --model, --mode, or both"},
		{"no session to set", []string{"session", "set", "--mode", "plan"}, 2, "one SESSION"},
		{"no message", []string{"session", "say", "x"}, 2, "the message as one argument"},
		{"a list of none", []string{"session", "list", "--max", "0"}, 2, "at least 1"},
		{"no engine", []string{"session", "list"}, exit.Unreachable, "starter up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := starter(t.Context(), "", append(tt.args, "--runs-dir", filepath.Join(t.TempDir(), ".runs"))...)
			if got.code != tt.code || !strings.Contains(got.err, tt.says) || strings.Count(got.err, "\n") != 1 || got.out != "" {
				t.Errorf("code %d, %q%q; want %d and %q in one line", got.code, got.out, got.err, tt.code, tt.says)
			}
		})
	}
}
