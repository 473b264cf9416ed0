package register_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/register"
)

func hookIn(t *testing.T) register.Hook {
	t.Helper()
	home := t.TempDir()
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	must(t, err)
	return register.Hook{Dirs: dirs, Owner: marker.OwnerOf(os.Getpid()), Now: time.Now(), Reader: "starter inbox read"}
}

func event(name, session string) string {
	return fmt.Sprintf(`{"hook_event_name":%q,"session_id":%q,"cwd":"/w","transcript_path":"/t.jsonl","model":"opus","source":"startup","permission_mode":"default"}`, name, session)
}

// handle gives the hook an event, and returns what it wrote.
func handle(t *testing.T, h register.Hook, name, session string) (out struct {
	SystemMessage string
	Output        struct {
		HookEventName, AdditionalContext string
		WatchPaths                       []string
	} `json:"hookSpecificOutput"`
}, mail *register.Mail) {
	t.Helper()
	var b bytes.Buffer
	mail, err := h.Handle(t.Context(), strings.NewReader(event(name, session)), &b)
	must(t, err)
	if b.Len() > 0 {
		must(t, json.Unmarshal(b.Bytes(), &out))
	}
	return out, mail
}

func recordOf(t *testing.T, h register.Hook, session string) citizen.Record {
	t.Helper()
	r, err := (&citizen.Store{Dir: h.Dirs.Sessions}).FindNative(dispatch.ClaudeCode, session)
	must(t, err)
	return r
}

func deliverable(h register.Hook, r citizen.Record) bool {
	return mailbox.Mailboxes{Dirs: h.Dirs}.Deliverability(r).Deliverable
}

func send(t *testing.T, h register.Hook, to dispatch.GardenID, text string) {
	t.Helper()
	_, err := mailbox.Mailboxes{Dirs: h.Dirs}.Enqueue(t.Context(), mailbox.Mail{To: to, Body: text})
	must(t, err)
}

func TestASessionIsReachableFromItsStartToItsEnd(t *testing.T) {
	h := hookIn(t)
	out, _ := handle(t, h, "SessionStart", "n-1")
	r := recordOf(t, h, "n-1")
	signal := filepath.Join(h.Dirs.Mailbox(r.GardenID), "inbox.signal")
	if !deliverable(h, r) || r.CWD != "/w" || r.Model != "opus" || r.TranscriptPath != "/t.jsonl" || r.IsEntwurf {
		t.Errorf("%+v", r)
	}
	if o := out.Output; o.HookEventName != "SessionStart" || len(o.WatchPaths) != 1 || o.WatchPaths[0] != signal ||
		!strings.Contains(o.AdditionalContext, "`starter inbox read "+string(r.GardenID)+"`") || out.SystemMessage != "" {
		t.Errorf("%+v", out)
	}
	if _, err := os.Stat(signal); err != nil {
		t.Error(err) // there is nothing to watch
	}
	if self, err := h.Dirs.Self(citizen.Caller{Lookup: func(string) (string, bool) { return "", false }, Parent: os.Getpid(), Now: h.Now}); err != nil || self.SessionID != string(r.GardenID) || !*self.Replyable {
		t.Errorf("its children are %+v, %v", self, err)
	}
	if _, mail := handle(t, h, "FileChanged", "n-1"); mail != nil {
		t.Errorf("woken for nothing: %s", mail)
	}
	send(t, h, r.GardenID, "secret")
	send(t, h, r.GardenID, "secret too")
	if _, mail := handle(t, h, "FileChanged", "n-1"); mail == nil || mail.String() != "2 unread messages for "+string(r.GardenID) {
		t.Errorf("%v", mail)
	}
	if _, mail := handle(t, h, "FileChanged", "n-1"); mail != nil {
		t.Errorf("woken again: %s", mail)
	}
	out, _ = handle(t, h, "CwdChanged", "n-1")
	if o := out.Output; o.HookEventName != "CwdChanged" || len(o.WatchPaths) != 1 || o.AdditionalContext != "" || !deliverable(h, r) {
		t.Errorf("%+v", out)
	}
	handle(t, h, "SessionEnd", "n-1")
	if deliverable(h, r) {
		t.Error("mail is delivered to a session that has ended")
	}
	out, _ = handle(t, h, "SessionStart", "n-1") // resumed
	if again := recordOf(t, h, "n-1"); again.GardenID != r.GardenID || !deliverable(h, again) || !strings.Contains(out.Output.AdditionalContext, "2 unread messages") {
		t.Errorf("%+v, %+v", again, out)
	}
}

// TestAProcessGoesOverToAnotherSession is what /clear does.
func TestAProcessGoesOverToAnotherSession(t *testing.T) {
	h := hookIn(t)
	handle(t, h, "SessionStart", "n-1")
	handle(t, h, "SessionStart", "n-2")
	first, second := recordOf(t, h, "n-1"), recordOf(t, h, "n-2")
	if deliverable(h, first) || !deliverable(h, second) {
		t.Errorf("the first reads mail: %v, the second: %v", deliverable(h, first), deliverable(h, second))
	}
	handle(t, h, "SessionEnd", "n-1") // late
	if !deliverable(h, second) {
		t.Error("the end of the first session took the markers of the second")
	}
}

func TestTheEndOfOneProcessLeavesTheOther(t *testing.T) {
	h := hookIn(t)
	other := exec.Command("sleep", "600")
	must(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	late := h
	late.Owner = marker.OwnerOf(other.Process.Pid)
	handle(t, h, "SessionStart", "n-1")
	handle(t, late, "SessionStart", "n-1") // the session was resumed there
	handle(t, h, "SessionEnd", "n-1")
	if r := recordOf(t, h, "n-1"); !deliverable(h, r) {
		t.Error("the markers of the process that has the session are gone")
	}
}

// TestWhatIsNoEvent holds that nothing is made.
func TestWhatIsNoEvent(t *testing.T) {
	for name, in := range map[string]string{
		"nothing": "", "text": "hello", "a list": "[]", "no session": `{"hook_event_name":"SessionStart","cwd":"/w"}`,
		"no directory": `{"hook_event_name":"SessionStart","session_id":"x"}`, "too much": `{"x":"` + strings.Repeat("x", 2<<20) + `"}`,
	} {
		h := hookIn(t)
		var out bytes.Buffer
		if mail, err := h.Handle(t.Context(), strings.NewReader(in), &out); err == nil || mail != nil || out.Len() > 0 {
			t.Errorf("%s: %v, %v, %s", name, mail, err, &out)
		}
		if _, err := os.Stat(h.Dirs.Agent); err == nil {
			t.Errorf("%s: a registry was made", name)
		}
	}
	for _, name := range []string{"Stop", "FileChanged", "SessionEnd"} {
		h := hookIn(t)
		if _, mail := handle(t, h, name, "n-1"); mail != nil {
			t.Errorf("%s: %v", name, mail)
		}
		if _, err := os.Stat(h.Dirs.Agent); err == nil {
			t.Errorf("%s: a registry was made", name)
		}
	}
}

func TestAPersonIsToldWhyASessionCannotBeReached(t *testing.T) {
	h := hookIn(t)
	must(t, os.MkdirAll(h.Dirs.Sessions, 0o700))
	must(t, os.Chmod(h.Dirs.Sessions, 0o777))
	out, mail := handle(t, h, "SessionStart", "n-1")
	if mail != nil || !strings.Contains(out.SystemMessage, "can be written by other users") || len(out.Output.WatchPaths) > 0 {
		t.Errorf("%+v", out)
	}
	if names, _ := os.ReadDir(h.Dirs.Sessions); len(names) > 0 {
		t.Errorf("something was written there: %v", names)
	}
}
