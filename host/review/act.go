package review

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The fields of the forms.
const (
	tokenField = "token"
	idField    = "id"   // of the approval or question that was shown
	verbField  = "verb" // of the button
	textField  = "text" // reason, answer or note
	onceField  = "once" // names the note
	fileField  = "file" // names of the files that are accepted; in an address the number of a file
	// pendingField is the approval that a refusal settles, where the attempt that was shown is not its first.
	pendingField = "pending"
	remarkField  = "remark" // prefix: remark:new:8:slug.go
)

// act is what a form does. It returns the word that saidWords has.
type act func(p *page, ctx context.Context, id run.ID, by string, form url.Values) (said string, err error)

// acts are the forms by the last part of their path.
var acts = map[string]act{"decide": decideApproval, "answer": answerQuestion, "note": sendNote, "cancel": cancelRun}

// faultError reports a form that says nothing to the run.
type faultError string

func (e faultError) Error() string { return string(e) }

// doForm does as a form says and leads back to the run. A refusal is said there, and the words stay in the form.
func (p *page) doForm(w http.ResponseWriter, r request, id run.ID, name string) {
	r.PostForm = withLineFeeds(r.PostForm)
	said, err := acts[name](p, r.Context(), id, r.Name, r.PostForm)
	if err != nil {
		if code := codeOf(err); code >= http.StatusInternalServerError {
			showLoss(w, r, code, err.Error()+". Nothing is known of what you sent: look again.", wordsIn(r.PostForm))
			return
		}
		wrong := problem{why: err.Error()}
		if name == "note" {
			wrong.note = r.PostForm.Get(textField)
		} else {
			draft, _ := p.reasonOf(r.Context(), id, r.PostForm.Get(idField), r.PostForm) // the words alone if the lines are gone
			wrong.draft = firstOf(draft, r.PostForm.Get(textField))
		}
		p.showRun(w, r, id, wrong)
		return
	}
	http.Redirect(w, r.Request, RunPath(id)+"?said="+said, http.StatusSeeOther)
}

// The words of the buttons.
const (
	verbApprove = "approve"
	verbSession = "session" // approve, and allow the like in the session
	verbReject  = "reject"
	verbFinal   = "final" // reject, and end the run
	verbPart    = "part"  // approve the marked files
	verbAnswer  = "answer"
	verbRetry   = "retry"
)

const errVerb = faultError("the form says neither yes nor no")

// decideApproval settles the approval that the form names: the one that was shown.
func decideApproval(p *page, ctx context.Context, id run.ID, by string, form url.Values) (string, error) {
	d := run.Decision{ApprovalID: form.Get(idField), By: by, Decision: run.Approve}
	said := "approved"
	switch form.Get(verbField) {
	case verbApprove:
	case verbSession:
		d.Session, said = true, "allowed"
	case verbReject:
		d.Decision, said = run.Reject, "rejected"
	case verbFinal:
		d.Decision, d.Final, said = run.Reject, true, "ended"
	case verbPart:
		if d.Files, said = form[fileField], "part"; len(d.Files) == 0 {
			return "", faultError("mark the files that you accept")
		}
	default:
		return "", errVerb
	}
	reason, err := p.reasonOf(ctx, id, d.ApprovalID, form)
	if err != nil {
		return "", err
	}
	if d.Decision == run.Reject {
		d.ApprovalID = firstOf(form.Get(pendingField), d.ApprovalID)
	}
	if d.Reason = reason; d.Decision == run.Reject && !d.Final && d.Reason == "" {
		return "", faultError("say what shall be different: in a line of its own, or at a line of the patch")
	}
	return said, p.runs.Decide(ctx, id, d)
}

// reasonOf returns the reason of a decision with the remarks at lines. It reads the patch, whose lines are quoted.
func (p *page) reasonOf(ctx context.Context, id run.ID, approval string, form url.Values) (string, error) {
	remarks, err := remarksIn(form)
	if err != nil || len(remarks) == 0 {
		return strings.TrimSpace(form.Get(textField)), err
	}
	pending, err := p.runs.Pending(ctx, id)
	if err != nil {
		return "", err
	}
	var files []hunks.File
	if pending.Approval != nil {
		a, _ := chooseAttempt(*pending.Approval, approval)
		if patch, err := p.record.Load(id, a.Patch); err == nil {
			files, _ = hunks.Read(patch) // a patch that cannot be read has no lines to quote
		}
	}
	return hunks.Reason(form.Get(textField), files, remarks), nil
}

// remarksIn returns the remarks of a form in the order of files and lines.
func remarksIn(form url.Values) (list []hunks.Remark, err error) {
	for name, values := range form {
		rest, ok := strings.CutPrefix(name, remarkField+":")
		if !ok {
			continue
		}
		parts := strings.SplitN(rest, ":", 3)
		if len(parts) != 3 || parts[0] != "old" && parts[0] != "new" {
			return nil, faultError(fmt.Sprintf("%q is no place of a remark", name))
		}
		line, err := strconv.Atoi(parts[1])
		if err != nil || line < 0 {
			return nil, faultError(fmt.Sprintf("%q is no place of a remark", name))
		}
		for _, text := range values {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, hunks.Remark{File: parts[2], Line: line, Old: parts[0] == "old", Text: text})
			}
		}
	}
	slices.SortFunc(list, func(a, b hunks.Remark) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return list, nil
}

// withLineFeeds returns a form with the line feeds that a person, or a file's name, has: a browser sends two characters
// for each, in names and values alike.
func withLineFeeds(form url.Values) url.Values {
	out := url.Values{}
	for name, values := range form {
		for _, v := range values {
			out.Add(lineFeeds.Replace(name), lineFeeds.Replace(v))
		}
	}
	return out
}

var lineFeeds = strings.NewReplacer("\r\n", "\n")

// wordsIn returns what a person has written into a form.
func wordsIn(form url.Values) string {
	words := []string{strings.TrimSpace(form.Get(textField))}
	remarks, _ := remarksIn(form) // a form of the page names places only
	for _, r := range remarks {
		words = append(words, fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Text))
	}
	return strings.TrimSpace(strings.Join(words, "\n"))
}

func answerQuestion(p *page, ctx context.Context, id run.ID, by string, form url.Values) (string, error) {
	r := run.Reply{QuestionID: form.Get(idField), By: by}
	switch verb := form.Get(verbField); verb {
	case verbRetry:
		r.Retry = true
	case verbAnswer:
		r.Text = strings.TrimSpace(form.Get(textField))
	default: // one of the words that the question takes
		r.Text = verb
	}
	return "answered", p.runs.Reply(ctx, id, r)
}

// maxOnce bounds the name of a note's form.
const maxOnce = 64

func sendNote(p *page, ctx context.Context, id run.ID, by string, form url.Values) (string, error) {
	once := form.Get(onceField)
	if once == "" || len(once) > maxOnce {
		return "", faultError("the form of the note has no name, by which it would be one note however often it is sent: load the page again")
	}
	return "noted", p.runs.NoteOnce(ctx, id, once, run.Note{Text: strings.TrimSpace(form.Get(textField)), By: by})
}

func cancelRun(p *page, ctx context.Context, id run.ID, _ string, _ url.Values) (string, error) {
	return "canceled", p.runs.Cancel(ctx, id)
}

// newOnce returns a name that makes a note one note, however often its form is sent.
func newOnce() string { return rand.Text() }
