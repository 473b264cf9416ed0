package review

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The fields of the forms.
const (
	tokenField = "token"
	idField    = "id"    // of the approval or question that was shown
	verbField  = "verb"  // of the button
	textField  = "text"  // reason, answer or note
	onceField  = "once"  // names the form
	hunkField  = "hunk"  // marked hunks, as path:number
	patchField = "patch" // of an edit
	fileField  = "file"  // names of the files that are accepted; in an address the number of a file
	// pendingField is the approval that a refusal settles, where the attempt that was shown is not its first.
	pendingField = "pending"
	remarkField  = "remark" // prefix: remark:new:8:slug.go
	intoField    = "into"   // the branch of a merge, of an undo, or of a retry
)

// act is what a form does.
type act func(p *page, ctx context.Context, id run.ID, by string, form url.Values) (outcome, error)

// outcome is what a form has done.
type outcome struct {
	said string // the word that saidWords has; empty: the page itself says it
	path string // where the form leads; empty: to the run
}

// acts are the forms by the last part of their path.
var acts = map[string]act{
	"decide": decideApproval, "answer": answerQuestion, "note": sendNote, "cancel": cancelRun, "merge": mergeRun, "undo": undoRun, "retry": retryRun,
}

// The errors of a page.
type (
	faultError   string // a form that says nothing to the run
	missingError string // a thing that is not there
	askError     int    // a yes with so many comments: the person is asked what to do with them
)

func (e faultError) Error() string   { return string(e) }
func (e missingError) Error() string { return string(e) }

func (e askError) Error() string {
	return fmt.Sprintf("you have %s", display.Count(int(e), "comment", "comments"))
}

// doForm carries out a form and redirects: after a decision to the next waiting item. If the form is refused, the run's
// page shows the reason, and the text stays in the form.
func (p *page) doForm(w http.ResponseWriter, r request, id run.ID, name string) {
	r.PostForm = withLineFeeds(r.PostForm)
	out, err := acts[name](p, r.Context(), id, r.Name, r.PostForm)
	if err != nil {
		if code := codeOf(err); code >= http.StatusInternalServerError {
			showLoss(w, r, code, err.Error()+". The run may have received what you sent: check it before you send it again.", wordsIn(r.PostForm))
			return
		}
		wrong := problem{why: "Nothing was changed: " + err.Error() + "."}
		if ask, ok := errors.AsType[askError](err); ok {
			wrong.why, wrong.ask = "", int(ask)
		}
		switch {
		case name == "note":
			wrong.note = r.PostForm.Get(textField)
		case r.PostForm.Get(verbField) == verbEdit:
			wrong.edit = r.PostForm.Get(patchField)
		default:
			draft, _ := p.reasonOf(r.Context(), id, r.PostForm.Get(idField), r.PostForm) // the words alone if the lines are gone
			wrong.draft = cmp.Or(draft, r.PostForm.Get(textField))
		}
		p.showRun(w, r, id, wrong)
		return
	}
	if out.path == "" && (name == "decide" || name == "answer") {
		out.path = p.nextAfter(r.Context(), RunPath(id))
	}
	leadTo(w, r, out, RunPath(id))
}

// leadTo redirects from a form of the page at a path. The address carries a word that names the form's effect.
func leadTo(w http.ResponseWriter, r request, out outcome, from string) {
	to, query := cmp.Or(out.path, from), url.Values{}
	if out.said != "" {
		query.Set("said", out.said)
	}
	if to != from && out.path != "" && strings.HasPrefix(from, "/") {
		query.Set("of", from)
	}
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	http.Redirect(w, r.Request, to, http.StatusSeeOther)
}

// The words of the buttons.
const (
	verbApprove = "approve"
	verbAnyway  = "anyway"  // approve, with comments that nobody acts on
	verbSession = "session" // approve, and allow the like in the session
	verbReject  = "reject"
	verbFinal   = "final" // reject, and end the run
	verbPart    = "part"  // approve the marked files and hunks
	verbEdit    = "edit"  // another patch takes its place
	verbAnswer  = "answer"
	verbRetry   = "retry"
)

const errVerb = faultError("the form carries no decision: use one of its buttons")

// decideApproval settles the approval that the form names: the one that was shown.
func decideApproval(p *page, ctx context.Context, id run.ID, by string, form url.Values) (outcome, error) {
	d := run.Decision{ApprovalID: form.Get(idField), By: by, Decision: run.Approve}
	said := "approved"
	verb := form.Get(verbField)
	if verb == verbApprove || verb == verbSession {
		if n := countComments(form); n > 0 {
			return outcome{}, askError(n)
		}
	}
	switch verb {
	case verbApprove, verbAnyway:
	case verbSession:
		d.Session, said = true, "allowed"
	case verbReject:
		d.Decision, said = run.Reject, "rejected"
	case verbFinal:
		d.Decision, d.Final, said = run.Reject, true, "ended"
	case verbPart:
		d.Files, d.Hunks, said = form[fileField], hunksIn(form), "part"
		if !d.TakesPart() {
			return outcome{}, faultError("mark the files or hunks that you accept")
		}
	case verbEdit:
		d.Decision, d.Patch = run.Edit, form.Get(patchField)
		return outcome{said: "edited", path: RunPath(id)}, p.runs.Decide(ctx, id, d)
	default:
		return outcome{}, errVerb
	}
	reason, err := p.reasonOf(ctx, id, d.ApprovalID, form)
	if err != nil {
		return outcome{}, err
	}
	if d.Decision == run.Reject {
		d.ApprovalID = cmp.Or(form.Get(pendingField), d.ApprovalID)
	}
	if d.Reason = reason; d.Decision == run.Reject && !d.Final && d.Reason == "" {
		return outcome{}, faultError("write what to change, in the field or at a line of the patch")
	}
	return outcome{said: said}, p.runs.Decide(ctx, id, d)
}

// hunksIn returns the marked hunks of the files that are not marked as a whole.
func hunksIn(form url.Values) (list []run.HunkChoice) {
	for _, mark := range form[hunkField] {
		at := strings.LastIndexByte(mark, ':')
		n, err := strconv.Atoi(mark[at+1:])
		if at < 0 || err != nil || slices.Contains(form[fileField], mark[:at]) {
			continue
		}
		i := slices.IndexFunc(list, func(c run.HunkChoice) bool { return c.File == mark[:at] })
		if i < 0 {
			i, list = len(list), append(list, run.HunkChoice{File: mark[:at]})
		}
		list[i].Numbers = append(list[i].Numbers, n)
	}
	return list
}

// countComments counts the comments of a form: those at lines, and the text below them.
func countComments(form url.Values) int {
	remarks, _ := remarksIn(form) // a form of the page names places only
	if strings.TrimSpace(form.Get(textField)) != "" {
		return len(remarks) + 1
	}
	return len(remarks)
}

// reasonOf returns the reason of a decision with the remarks at lines. It reads the patch, whose lines are quoted.
func (p *page) reasonOf(ctx context.Context, id run.ID, approval string, form url.Values) (string, error) {
	remarks, err := remarksIn(form)
	if err != nil || len(remarks) == 0 {
		return strings.TrimSpace(form.Get(textField)), err
	}
	v, err := p.viewRun(ctx, id)
	if err != nil {
		return "", err
	}
	var files []hunks.File
	if v.Pending.Approval != nil {
		a, _ := chooseAttempt(*v.Pending.Approval, approval)
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
			return nil, faultError(fmt.Sprintf("invalid line of a patch: %q", name))
		}
		line, err := strconv.Atoi(parts[1])
		if err != nil || line < 0 {
			return nil, faultError(fmt.Sprintf("invalid line of a patch: %q", name))
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

func answerQuestion(p *page, ctx context.Context, id run.ID, by string, form url.Values) (outcome, error) {
	r := run.Reply{QuestionID: form.Get(idField), By: by}
	switch verb := form.Get(verbField); verb {
	case verbRetry:
		r.Retry = true
	case verbAnswer:
		r.Text = strings.TrimSpace(form.Get(textField))
	default: // one of the words that the question takes
		r.Text = verb
	}
	return outcome{said: "answered"}, p.runs.Reply(ctx, id, r)
}

// maxOnce bounds the name of a form.
const maxOnce = 64

const errOnce = faultError("the form is incomplete: load the page again")

func sendNote(p *page, ctx context.Context, id run.ID, by string, form url.Values) (outcome, error) {
	once := form.Get(onceField)
	if once == "" || len(once) > maxOnce {
		return outcome{}, errOnce
	}
	return outcome{said: "noted"}, p.runs.NoteOnce(ctx, id, once, run.Note{Text: strings.TrimSpace(form.Get(textField)), By: by})
}

func cancelRun(p *page, ctx context.Context, id run.ID, _ string, _ url.Values) (outcome, error) {
	return outcome{said: "canceled"}, p.runs.Cancel(ctx, id)
}

// newOnce returns a name for a form, by which its effect happens once if it is sent several times.
func newOnce() string { return rand.Text() }
