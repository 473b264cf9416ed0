package review

import (
	"cmp"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/toolcall"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// sessionPath returns the path of a session's page.
func sessionPath(id session.ID) string { return sessionsPath + url.PathEscape(string(id)) }

// sessionView is the page of a session.
type sessionView struct {
	shell
	Path             string
	Name, Repository string
	State, Age       string
	Asking           bool
	Wait             string // ids of what it waits for
	Reason           string
	Asks             []askView
	Question         *askView
	Past             []pastView
	Facts            [][2]string
}

// askView is what a session waits for: a tool, or the answer to a question.
type askView struct {
	ID, Tool, Summary string
	Input             string
	Rest              []toolcall.Member
	Missing           string
	Text, Why         string // of a question
}

// pastView is a message that has ended.
type pastView struct{ At, By, Outcome, Text string }

// serveSession serves what lies below a session. name is its escaped name.
func (p *page) serveSession(w http.ResponseWriter, r request, name, last string) {
	decoded, err := url.PathUnescape(name)
	if err != nil {
		showError(w, r, http.StatusNotFound, "There is no such session.")
		return
	}
	id, err := p.sessions.Find(r.Context(), decoded)
	switch {
	case err != nil:
		showError(w, r, codeOf(err), err.Error())
	case last == name && r.Method != http.MethodPost:
		p.showSession(w, r, id, "")
	case last == "live" && r.Method == http.MethodGet:
		p.live.stream(w, r.Request, run.ID(sessionTopic+string(id)))
	case r.Method == http.MethodPost && (last == "decide" || last == "answer"):
		p.answerSession(w, r, id, last)
	default:
		showError(w, r, http.StatusNotFound, "There is no such page.")
	}
}

func (p *page) showSession(w http.ResponseWriter, r request, id session.ID, wrong string) {
	s, err := p.sessions.State(r.Context(), id)
	if err != nil {
		showLoss(w, r, codeOf(err), err.Error(), wordsIn(r.PostForm))
		return
	}
	v := p.sessionOf(id, s)
	v.shell = r.shell(v.Name)
	v.Walk, v.Waits = p.walkFrom(r.Context(), v.Path)
	if v.Live = v.Path + "/live"; s.State == session.Retired {
		v.Live = ""
	}
	code := http.StatusOK
	if wrong != "" {
		v.Wrong, code = wrong, http.StatusConflict
	}
	renderPage(w, code, "session", v)
}

func (p *page) sessionOf(id session.ID, s session.Snapshot) sessionView {
	in := s.Input
	v := sessionView{
		Path: sessionPath(id), Name: display.OneLine(cmp.Or(in.Title, in.Provider+" session"), 80), Repository: display.Line(filepath.Base(in.Repository.Path)),
		State: string(s.State), Age: display.Age(p.now().Sub(s.Since)), Asking: s.State == session.Asking, Reason: display.Line(s.Reason),
		Facts: [][2]string{{"Session", display.Line(string(id))}, {"Agent", display.Line(in.Provider)}, {"Repository", display.Line(in.Repository.Path)}},
	}
	if used := s.Usage.String(); used != "" {
		v.Facts = append(v.Facts, [2]string{"Cost", used})
	}
	for _, a := range s.Pending().Asks {
		v.Asks = append(v.Asks, askOf(a))
		v.Wait += a.ApprovalID + " "
	}
	if q := s.Question; q != nil {
		v.Wait += q.ID
		v.Question = &askView{ID: q.ID, Text: safeText(q.Question.Question), Why: safeText(q.Reason)}
	}
	for _, past := range slices.Backward(s.Past) {
		v.Past = append(v.Past, pastView{past.At.Local().Format("2006-01-02 15:04:05"), display.Line(past.By), string(past.Outcome), display.Line(past.Line())})
	}
	v.Past = v.Past[:min(len(v.Past), 20)]
	return v
}

func askOf(a session.PendingAsk) askView {
	v := askView{ID: a.ApprovalID, Tool: display.Line(a.Permission.Tool), Summary: display.Line(a.Summary)}
	if strings.HasSuffix(a.Excerpt, "…") {
		v.Missing = "Only the beginning of the input is shown."
	}
	call := toolcall.Read(a.Permission.Tool, []byte(a.Excerpt)).Within(a.Permission.Dir)
	v.Input = safeText(cmp.Or(call.Command, call.Target))
	for _, m := range call.Rest {
		v.Rest = append(v.Rest, toolcall.Member{Name: display.Line(m.Name), Value: safeText(m.Value)})
	}
	return v
}

// answerSession sends a decision or an answer, and leads to what waits next.
func (p *page) answerSession(w http.ResponseWriter, r request, id session.ID, what string) {
	r.PostForm = withLineFeeds(r.PostForm)
	form, text := r.PostForm, strings.TrimSpace(r.PostForm.Get(textField))
	said, name := "answered", sessionflow.AnswerMessage
	var message any = run.Reply{QuestionID: form.Get(idField), By: r.Name, Text: text}
	if what == "decide" {
		d := run.Decision{ApprovalID: form.Get(idField), By: r.Name, Reason: text}
		switch form.Get(verbField) {
		case verbApprove:
			d.Decision, said = run.Approve, "allowed"
		case verbSession:
			d.Decision, d.Session, said = run.Approve, true, "allowed"
		case verbReject:
			d.Decision, said = run.Reject, "refused"
		default:
			p.showSession(w, r, id, "Nothing was changed: "+errVerb.Error()+".")
			return
		}
		if d.Decision == run.Approve && text != "" {
			p.showSession(w, r, id, "Nothing was changed: you wrote a reason to refuse. Refuse, or allow without it: “"+display.OneLine(text, 2000)+"”")
			return
		}
		name, message = sessionflow.ApprovalMessage, d
	}
	if err := p.sessions.Send(r.Context(), id, name, "", message, nil); err != nil {
		if code := codeOf(err); code >= http.StatusInternalServerError {
			showLoss(w, r, code, err.Error()+". The session may have received what you sent: check it before you send it again.", text)
			return
		}
		p.showSession(w, r, id, "Nothing was changed: "+err.Error()+".")
		return
	}
	leadTo(w, r, outcome{said: said, path: p.nextAfter(r.Context(), sessionPath(id))}, sessionPath(id))
}
