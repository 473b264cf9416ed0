package notify_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"

	notify "github.com/ratchet-dev/ratchet/activities/notify"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor" // the programs run under the test binary
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
)

var notice = notices.Notice{
	ID: "notice-r1-evt-000008-apr-1-a", Kind: notices.Approval, RunID: "r1", Name: "slug#14", Repository: "slug", Goal: `$(touch pwned) "; touch pwned; <b>`, At: time.Unix(1, 0),
}

func link(n notices.Notice) string { return "https://ratchet.example.com/runs/" + string(n.RunID) }

// A secret of the worker that is longer than the goal of a notice is found before the goal is clipped.
func TestANoticeTellsNoPartOfASecret(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("Ab9", 30)
	n, _ := notices.Of(run.Input{RunID: "r1", Goal: "Make the client of the billing service work with the key " + key + strings.Repeat(" everywhere", 20)}, run.Event{Payload: run.RunCompleted{}})
	out := filepath.Join(t.TempDir(), "out")
	a := notify.New(notify.Config{
		Command: `printf %s "$RATCHET_TEXT" > ` + out + `; cat >> ` + out, Environ: os.Environ(),
		Redact: redact.New([]string{"ANTHROPIC_API_KEY=" + key}).String,
	})
	if err := a.SendNotice(t.Context(), notify.SendInput{Channel: run.CommandChannel, Notice: n}); err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(out)
	text, _, _ := strings.Cut(string(told), "{")
	if err != nil || strings.Contains(string(told), key[:20]) || !strings.Contains(text, "[redacted:ANTHROPIC_API_KEY]") || utf8.RuneCountInString(text) != 100 {
		t.Errorf("told %q, %v", told, err)
	}
}

func TestAWebhookIsSigned(t *testing.T) {
	secret := notices.Secret(strings.Repeat("k", 32))
	var got []string
	answer := http.StatusNoContent
	header := http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seconds, _ := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		at := time.Unix(seconds, 0)
		if r.Header.Get("webhook-signature") != secret.Sign(r.Header.Get("webhook-id"), at, body) || time.Since(at) > time.Hour {
			t.Errorf("%v is no signature of %s", r.Header, body)
		}
		got = append(got, r.Header.Get("webhook-id")+" "+string(body))
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer)
	}))
	defer server.Close()
	a := notify.New(notify.Config{Webhook: server.URL + "/token-of-the-receiver", Secret: secret, Link: link, Redact: func(s string) string { return strings.ReplaceAll(s, "pwned", "[redacted]") }})
	tell := func() error {
		return a.SendNotice(t.Context(), notify.SendInput{Channel: run.WebhookChannel, Notice: notice})
	}
	if err := tell(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], notice.ID+" {") || !strings.Contains(got[0], `"link":"https://ratchet.example.com/runs/r1"`) ||
		!strings.Contains(got[0], `"title":"slug#14 waits for your approval"`) || strings.Contains(got[0], "pwned") {
		t.Errorf("it got %q", got)
	}
	for code, final := range map[int]bool{400: false, 401: false, 410: true, 429: false, 500: false, 503: false} {
		answer = code
		err := tell()
		app, _ := errors.AsType[*temporal.ApplicationError](err)
		if err == nil || app != nil && app.NonRetryable() != final || final && app == nil {
			t.Errorf("%d: %v", code, err)
		}
	}
	date := func(ahead time.Duration) string { return time.Now().Add(ahead).UTC().Format(http.TimeFormat) }
	for value, want := range map[string]struct{ least, most time.Duration }{
		"90":                    {90 * time.Second, 90 * time.Second},
		"86400":                 {time.Hour, time.Hour},
		"1000000000000000000":   {time.Hour, time.Hour},
		"-5":                    {},
		"soon":                  {},
		date(30 * time.Minute):  {1, 30 * time.Minute},
		date(24 * time.Hour):    {time.Hour, time.Hour},
		date(-30 * time.Minute): {},
	} {
		answer, header = http.StatusTooManyRequests, http.Header{"Retry-After": {value}}
		var wait time.Duration
		if app, ok := errors.AsType[*temporal.ApplicationError](tell()); ok {
			wait = app.NextRetryDelay()
		}
		if wait < want.least || wait > want.most {
			t.Errorf("the receiver asks to wait %q: %s, want %s to %s", value, wait, want.least, want.most)
		}
	}
	before := len(got)
	answer, header = http.StatusFound, http.Header{"Location": {server.URL + "/elsewhere"}}
	if err := tell(); err == nil || len(got) != before+1 {
		t.Errorf("a redirect: %v, %d requests", err, len(got)-before)
	}
	server.Close()
	if err := tell(); err == nil || strings.Contains(err.Error(), "token-of-the-receiver") {
		t.Errorf("a receiver that is away: %v", err)
	}
}

func TestACommandIsTold(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	a := notify.New(notify.Config{
		Command: "cd " + dir + `; { echo "$RATCHET_TITLE|$RATCHET_TEXT|$RATCHET_LINK|$RATCHET_NOTICE|$RATCHET_NOTICE_ID|${SECRET-none}|$RATCHET_ACTIONS"; cat; } > told`,
		Environ: []string{"PATH=" + os.Getenv("PATH")}, Link: link,
		Answers: func(n notices.Notice) []notices.Answer {
			return []notices.Answer{{Label: "Allow", Decision: "approve", URL: "https://x/answer/A"}, {Label: "Refuse", Decision: "reject", URL: "https://x/answer/B"}}
		},
	})
	tell := func(c run.Channel) error {
		return a.SendNotice(t.Context(), notify.SendInput{Channel: c, Notice: notice})
	}
	if err := tell(run.CommandChannel); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(b), "\n", 2)
	if want := "slug#14 waits for your approval|" + notice.Goal + "|https://ratchet.example.com/runs/r1|run.approval_requested|" + notice.ID + "|none|http, Allow, https://x/answer/A, method=POST, clear=true; http, Refuse, https://x/answer/B, method=POST, clear=true"; lines[0] != want || !strings.HasPrefix(lines[1], `{"type":"run.approval_requested"`) {
		t.Errorf("it was told %s", b)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("the goal was run by the shell")
	}
	failing := notify.New(notify.Config{
		Command: "echo; yes s3cret-value | head -n 9999; echo no key \033 for s3cret-value >&2; exit 3",
		Redact:  func(s string) string { return strings.ReplaceAll(s, "s3cret-value", "[redacted]") },
	})
	err = failing.SendNotice(t.Context(), notify.SendInput{Channel: run.CommandChannel, Notice: notice})
	if err == nil || !strings.HasPrefix(err.Error(), "/bin/sh ended with exit code 3: ") || !strings.HasSuffix(err.Error(), " no key <U+001B> for [redacted]") || strings.Contains(err.Error(), "s3cret") || len(err.Error()) > 400 {
		t.Errorf("a program that fails: %v", err)
	}
	if err := notify.New(notify.Config{Command: "exit 3"}).SendNotice(t.Context(), notify.SendInput{Channel: run.CommandChannel, Notice: notice}); err == nil || err.Error() != "/bin/sh ended with exit code 3" {
		t.Errorf("a silent program that fails: %v", err)
	}
	if err := tell(run.WebhookChannel); err != nil {
		t.Errorf("a channel that leads nowhere: %v", err)
	}
}
