package notify_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The vector is of the libraries of Standard Webhooks.
func TestSign(t *testing.T) {
	s, err := notify.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1614265330, 0)
	if got := s.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`)); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("the signature is %s", got)
	}
	for _, bad := range []string{"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=", "whsec_???", "whsec_" + strings.Repeat("AAAA", 30)} {
		if _, err := notify.ParseSecret(bad); err == nil {
			t.Errorf("the secret %q was taken", bad)
		}
	}
	if strings.Contains(s.String(), "MfKQ") {
		t.Error("a log would show the secret")
	}
}

func TestOf(t *testing.T) {
	in := run.Input{RunID: "r1", Name: "slug#14", Goal: "make it \x1b[2Jwork\nAPI_KEY=hidden", Repository: run.Repository{Path: "/home/kim/secret-client/slug"}}
	told := 0
	for _, p := range []run.Payload{
		run.ApprovalRequested{ApprovalID: "apr-1-a", Patch: "p"}, run.ApprovalRequested{ApprovalID: "apr-1-b", Permission: &run.Permission{Tool: "Bash", Title: "API_KEY=hidden"}},
		run.QuestionRaised{QuestionID: "qst-1-1", Question: run.Question{Question: "API_KEY=hidden?"}}, run.RunCompleted{}, run.RunFailed{Error: run.Problem{Message: "API_KEY=hidden"}}, run.RunCanceled{Reason: "API_KEY=hidden"},
		run.PhaseStarted{}, run.PatchProduced{}, run.ApprovalGranted{},
	} {
		n, ok := notify.Of(in, run.Event{ID: "evt-000008", Type: p.Type(), Payload: p})
		if !ok {
			continue
		}
		told++
		b, err := n.Body("http://127.0.0.1:8234/runs/r1")
		if err != nil || !json.Valid(b) {
			t.Fatal(err)
		}
		for _, secret := range []string{"hidden", "/home", "secret-client", "Bash", "\x1b"} {
			if strings.Contains(string(b), secret) {
				t.Errorf("%s tells %q: %s", n.Kind, secret, b)
			}
		}
		if !strings.HasPrefix(n.Title(), "slug#14 ") || !strings.HasPrefix(n.ID, "notice-r1-evt-000008") || strings.HasSuffix(n.ID, "-") {
			t.Errorf("%+v", n)
		}
	}
	if told != 6 {
		t.Errorf("%d events call a person", told)
	}
}

func TestCheckURL(t *testing.T) {
	for text, good := range map[string]bool{
		"https://hooks.example.com/x": true, "http://127.0.0.1:8080/x": true, "http://[::1]:1/": true,
		"http://hooks.example.com/x": false, "http://localhost.example.com/": false, "http://10.0.0.1/": false, "ftp://x/": false, "file:///etc/passwd": false,
		"https://kim:pw@example.com/": false, "": false, "https://": false, "http://169.254.169.254/": false, "http://0.0.0.0/": false, "http://localhost/": false,
	} {
		if err := notify.CheckURL(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
