package review

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// The paths of decisions that do not come from the page. No browser sends a request there: it would name an origin.
const (
	answerPath = "/answer/" // with a code
	replyPath  = "/reply"
)

// answers takes decisions from elsewhere than the page: by the one-time addresses in a notice, and by signed replies to a
// webhook. Each names the approval or question that the notice was about, and the run refuses it for any other.
type answers struct {
	runs     Runs
	sessions Sessions      // nil: none are decided about
	secret   notify.Secret // of the webhook; nil: no reply is taken
	now      func() time.Time

	mu   sync.Mutex
	open map[string]oneAnswer // by their codes
}

// oneAnswer is a decision that a code stands for, once.
type oneAnswer struct {
	decide func(context.Context) error
	end    time.Time
}

// isDirect reports whether a request is a decision from elsewhere, and of no browser.
func isDirect(r *http.Request) bool {
	return r.Method == http.MethodPost && (strings.HasPrefix(r.URL.Path, answerPath) || r.URL.Path == replyPath) &&
		r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == ""
}

// offer returns a code that decides once, within NoticeLife; empty: there are too many.
func (a *answers) offer(decide func(context.Context) error) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for code, o := range a.open {
		if a.now().After(o.end) {
			delete(a.open, code)
		}
	}
	if len(a.open) >= maxLinks {
		return ""
	}
	code := rand.Text()[:shortCode]
	a.open[code] = oneAnswer{decide, a.now().Add(NoticeLife)}
	return code
}

// take uses up a code.
func (a *answers) take(code string) (oneAnswer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, ok := a.open[code]
	delete(a.open, code)
	return o, ok && !a.now().After(o.end)
}

// giveBack lets a code be used again: it is not known that its decision arrived.
func (a *answers) giveBack(code string, o oneAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[code] = o
}

const errSpent = missingError("this answer was given already, or is too old: open the review page")

// serve takes a decision from elsewhere.
func (a *answers) serve(w http.ResponseWriter, r *http.Request) {
	var err error
	if code, ok := strings.CutPrefix(r.URL.Path, answerPath); ok {
		err = a.takeCode(r.Context(), code)
	} else {
		err = a.takeReply(r.Context(), w, r)
	}
	if err == nil {
		_, _ = io.WriteString(w, "taken\n")
		return
	}
	code := codeOf(err)
	if errors.Is(err, errForged) {
		code = http.StatusUnauthorized
	}
	http.Error(w, display.Line(err.Error()), code)
}

func (a *answers) takeCode(ctx context.Context, code string) error {
	o, ok := a.take(code)
	if !ok {
		return errSpent
	}
	err := o.decide(ctx)
	if err != nil && codeOf(err) >= http.StatusInternalServerError {
		a.giveBack(code, o)
	}
	return err
}

// reply is the body of a signed reply: a decision or an answer.
type reply struct {
	RunID      run.ID      `json:"runId"`
	ApprovalID string      `json:"approvalId"`
	Decision   run.Verdict `json:"decision"`
	Reason     string      `json:"reason"`
	QuestionID string      `json:"questionId"`
	Text       string      `json:"text"`
	By         string      `json:"by"`
}

// The bounds of a signed reply.
const (
	maxReply  = 16 << 10 // bytes
	replySkew = 5 * time.Minute
)

// errForged is the error of a reply that is not signed as it should be, or is too old.
var errForged = errors.New("no reply with an id, a timestamp of now and a signature by the key of the webhook")

// takeReply takes a reply that is signed as the webhook is, according to Standard Webhooks. One that is sent again changes
// nothing: it settles the approval or question that it names, once.
func (a *answers) takeReply(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReply))
	if err != nil {
		return faultError("the reply is too long")
	}
	if !a.isSigned(r.Header, body) {
		return errForged
	}
	var in reply
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields() // a notice of ours has the same key, and is no reply
	if err := decoder.Decode(&in); err != nil {
		return faultError("the reply cannot be read: " + err.Error())
	}
	if in.By = strings.TrimSpace(in.By); in.By == "" {
		in.By = "webhook"
	}
	if err := CheckName(in.By); err != nil {
		return faultError("by: " + err.Error())
	}
	by := in.By + " (webhook)"
	switch {
	case in.RunID.Validate() != nil:
		return faultError("runId names no run")
	case in.ApprovalID != "" && in.Decision != "" && in.QuestionID == "":
		err = a.runs.Decide(ctx, in.RunID, run.Decision{ApprovalID: in.ApprovalID, Decision: in.Decision, Reason: in.Reason, By: by})
	case in.QuestionID != "" && in.ApprovalID == "" && in.Decision == "":
		err = a.runs.Reply(ctx, in.RunID, run.Reply{QuestionID: in.QuestionID, Text: in.Text, By: by})
	default:
		return faultError("want approvalId with decision, or questionId with text")
	}
	return err
}

// isSigned reports whether a reply is signed by the key, and of now.
func (a *answers) isSigned(h http.Header, body []byte) bool {
	id, now := h.Get(notify.HeaderID), a.now()
	seconds, err := strconv.ParseInt(h.Get(notify.HeaderTimestamp), 10, 64)
	at := time.Unix(seconds, 0)
	if a.secret == nil || err != nil || id == "" || len(id) > maxNonce || at.Before(now.Add(-replySkew)) || at.After(now.Add(replySkew)) {
		return false
	}
	want := a.secret.Sign(id, at, body)
	return slices.ContainsFunc(strings.Fields(h.Get(notify.HeaderSignature)), func(got string) bool { return hmac.Equal([]byte(got), []byte(want)) })
}

// NoticeAnswers returns the addresses by which a person answers a notice without the page: each makes one decision, once.
func (s *Server) NoticeAnswers(name string, n notify.Notice) (list []notify.Answer) {
	add := func(label string, d run.Verdict) {
		code := s.answers.offer(func(ctx context.Context) error {
			decision := run.Decision{ApprovalID: n.About, Decision: d, By: name}
			if n.Session != "" {
				return s.answers.sessions.Send(ctx, session.ID(n.Session), sessionflow.ApprovalMessage, "", decision, nil)
			}
			return s.answers.runs.Decide(ctx, n.RunID, decision)
		})
		if code != "" {
			list = append(list, notify.Answer{Label: label, Decision: string(d), URL: s.URL + answerPath + code})
		}
	}
	switch {
	case n.Kind == notify.Approval: // a patch is sent back with a reason, on the page
		add("Approve", run.Approve)
	case n.Kind == notify.Permission, n.Kind == notify.SessionAsks && n.Tool && s.answers.sessions != nil:
		add("Allow", run.Approve)
		add("Refuse", run.Reject)
	}
	return list
}
