package controlsocket_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// A peer in another language sends two commands on one connection and prints
// the answers in the order of their ids.
const pythonClient = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile("rw", encoding="utf-8", newline="\n")
sender = {"sessionId": "s", "agentId": "py", "cwd": "/", "timestamp": "t"}
for n, c in enumerate([{"type": "send", "message": "h\u00e9llo \U0001f331", "sender": sender}, {"type": "get_info"}]):
    f.write(json.dumps({**c, "id": n}) + "\n")
f.flush()
answers = {a["id"]: a for a in (json.loads(f.readline()) for _ in range(2))}
print(answers[0]["success"], answers[0]["data"]["deliveredAs"], answers[1]["data"]["sessionId"])
`

func TestAPeerInAnotherLanguageSends(t *testing.T) {
	s := &session{info: controlsocket.Info{SessionID: string(gid), Idle: true}}
	path, _ := serve(t, s)
	out, err := exec.CommandContext(t.Context(), need.Program(t, "python3"), "-c", pythonClient, path).CombinedOutput()
	if want := "True direct " + string(gid); err != nil || strings.TrimSpace(string(out)) != want {
		t.Fatalf("%s, %v", out, err)
	}
	if got := s.messages(); len(got) != 1 || got[0].Text != "héllo 🌱" || got[0].Sender.AgentID != "py" {
		t.Errorf("%+v", got)
	}
}

// A session in another language sends an event before it answers, echoes the
// id, and goes.
const pythonServer = `
import json, socket, sys
l = socket.socket(socket.AF_UNIX)
l.bind(sys.argv[1])
l.listen()
print("ready", flush=True)
c, _ = l.accept()
f = c.makefile("rw", encoding="utf-8", newline="\n")
r = json.loads(f.readline())
f.write(json.dumps({"type": "event", "event": "turn_start"}) + "\n\n")
f.write(json.dumps({"type": "response", "command": r["type"], "success": True, "id": r["id"],
                    "data": {"deliveredAs": "followUp", "wants_reply": r["wants_reply"]}}) + "\n")
f.flush()
print(r["message"], r["mode"], r["sender"]["agentId"])
`

func TestAPeerInAnotherLanguageIsSentTo(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	python := exec.CommandContext(t.Context(), need.Program(t, "python3"), "-c", pythonServer, path)
	out, err := python.StdoutPipe()
	must(t, err)
	must(t, python.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	as, err := controlsocket.Client{Path: path}.Send(t.Context(), controlsocket.Message{
		Text: "--help", WantsReply: true, Sender: &dispatch.Sender{SessionID: "s", AgentID: "go", CWD: "/", Timestamp: "t"},
	})
	if err != nil || as != dispatch.Followed {
		t.Errorf("%q, %v", as, err)
	}
	if !lines.Scan() || lines.Text() != "--help follow_up go" {
		t.Errorf("%q, %v", lines.Text(), lines.Err())
	}
	must(t, python.Wait())
}
