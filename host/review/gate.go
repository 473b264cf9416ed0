package review

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/toolcall"
)

// gateView is what waits for a decision: a patch, or a tool.
type gateView struct {
	ID      string // of exactly the patch or call that is shown
	Pending string // of the approval that a refusal settles, where another attempt than its first is shown; else empty
	Summary string
	Stat    string
	Facts   []review.Fact
	Next    run.Outlook
	Part    bool   // some of the files can be accepted
	Missing string // why not all of it is shown
	Whole   string // path of the whole patch, where not all of it is shown
	Kept    bool   // the browser shows it already: only its id is sent

	Attempts []attemptView // more than one: tabs

	// Of a patch.
	Files   []fileView
	Changes *changesView // against the patch that was refused; nil: none was

	// Of a tool.
	Tool  string
	Input string            // the command, or the object of the call
	Rest  []toolcall.Member // the other members of its input
}

type attemptView struct {
	ID, Label string
	Shown     bool
}

// changesView is the difference between two patches.
type changesView struct {
	By, Reason string // of the rejection
	Files      []fileView
	None       bool // both leave the same files
	Unknown    string
}

// asked is what a request wants to see of an approval.
type asked struct {
	attempt string // id of the attempt; empty: the first
	shown   string // id of the approval or question that the browser shows already
}

// askedOf returns what a request wants to see. A form that was refused shows the attempt that it was of.
func askedOf(r request) asked {
	return asked{attempt: firstOf(r.URL.Query().Get(attemptField), r.PostForm.Get(idField)), shown: r.Header.Get(shownHeader)}
}

const (
	attemptField = "approval"
	shownHeader  = "Ratchet-Shown"
)

func (p *page) gateOf(id run.ID, a run.PendingApproval, events []run.Event, want asked) *gateView {
	first := a.ApprovalID
	a, attempts := chooseAttempt(a, want.attempt)
	if a.ApprovalID == want.shown {
		return &gateView{ID: a.ApprovalID, Kept: true}
	}
	v := &gateView{
		ID: a.ApprovalID, Summary: display.Line(a.Summary), Facts: review.Facts(a), Next: a.Next, Attempts: attempts,
	}
	if a.ApprovalID != first {
		v.Pending = first
	}
	for i := range v.Facts {
		v.Facts[i].Text = display.Line(v.Facts[i].Text)
	}
	if a.Permission != nil {
		p.addTool(v, id, a)
		return v
	}
	v.Stat = statWords(a.Stat)
	patch, err := p.record.Load(id, a.Patch)
	if err != nil {
		v.Missing = "The whole patch is not at hand here: this is its head. See the rest with `starter diff` where the run's directory is."
		patch = []byte(a.Excerpt)
	}
	files, err := hunks.Read(patch)
	if err != nil {
		v.Missing = "This patch cannot be shown file by file."
		v.Whole = RunPath(id) + "/patch?" + url.Values{attemptField: {v.ID}}.Encode()
	}
	v.addFiles(id, files)
	v.Part = a.Next.Part != "" && len(files) > 1
	v.Changes = p.changesOf(id, a, events, files)
	return v
}

// addFiles adds the files of the patch. It says what there is no room for.
func (v *gateView) addFiles(id run.ID, files []hunks.File) {
	v.Files = showFiles(files, sharedRoom())
	lines, cut := 0, 0
	for i, f := range v.Files {
		lines, cut = lines+f.Hidden, cut+f.Cut
		if f.LeftOut() != "" {
			v.Files[i].Link = RunPath(id) + "/file?" + url.Values{attemptField: {v.ID}, fileField: {itoa(i)}}.Encode()
		}
	}
	if out := leftOut(len(files)-len(v.Files), lines, cut); out != "" {
		v.Missing = strings.TrimSpace(v.Missing + " This patch is too long for a page: " + out + " left out here. What you decide is about all of it.")
		v.Whole = RunPath(id) + "/patch?" + url.Values{attemptField: {v.ID}}.Encode()
	}
}

// chooseAttempt returns the approval as it would be for the attempt of that id, and the tabs of all.
func chooseAttempt(a run.PendingApproval, id string) (run.PendingApproval, []attemptView) {
	if len(a.Choices) == 0 {
		return a, nil
	}
	first := attemptView{ID: a.ApprovalID, Label: attemptLabel(a.Candidate, "", a.Stat), Shown: true}
	tabs := []attemptView{first}
	for _, c := range a.Choices {
		tab := attemptView{ID: c.ApprovalID, Label: attemptLabel(c.Candidate, c.Provider, c.Stat)}
		if c.ApprovalID == id {
			tabs[0].Shown, tab.Shown = false, true
			a.ApprovalID, a.Digest, a.Patch, a.Stat, a.Summary = c.ApprovalID, c.Digest, c.Patch, c.Stat, c.Summary
			a.Reasons, a.Repairs, a.Excerpt, a.Candidate = c.Risks, nil, "", c.Candidate
		}
		tabs = append(tabs, tab)
	}
	return a, tabs
}

func attemptLabel(n int, provider string, s run.Stat) string {
	label := "Attempt " + itoa(n) + " · +" + itoa(s.Added) + " −" + itoa(s.Deleted)
	if provider != "" {
		label += " · " + display.Line(provider)
	}
	return label
}

func (p *page) addTool(v *gateView, id run.ID, a run.PendingApproval) {
	v.Tool = display.Line(a.Permission.Tool)
	input := []byte(a.Permission.Excerpt)
	if whole, err := p.record.Load(id, a.Permission.Input); err == nil {
		input = whole
	} else if strings.HasSuffix(a.Permission.Excerpt, "…") {
		v.Missing = "Not all of the input is at hand here: this is its head."
	}
	call := toolcall.Read(a.Permission.Tool, input)
	v.Input = safeText(cmp.Or(call.Command, call.Target))
	for _, m := range call.Rest {
		v.Rest = append(v.Rest, toolcall.Member{Name: display.Line(m.Name), Value: safeText(m.Value)})
	}
}

// changesOf returns how the patch differs from the one that was refused before it; nil: none was.
func (p *page) changesOf(id run.ID, a run.PendingApproval, events []run.Event, files []hunks.File) *changesView {
	if a.Refused == nil || a.PartOf != "" {
		return nil
	}
	no := lastRejection(events)
	v := &changesView{By: display.Line(no.By), Reason: safeText(no.Reason)}
	b, err := p.record.Load(id, *a.Refused)
	var earlier, changed []hunks.File
	if err == nil {
		earlier, err = hunks.Read(b)
	}
	if err == nil {
		changed, err = hunks.Compare(earlier, files)
	}
	switch {
	case err != nil:
		v.Unknown = "The refused patch cannot be compared with this one."
	case len(changed) == 0:
		v.None = true
	default:
		v.Files = showFiles(changed, sharedRoom())
	}
	return v
}

// lastRejection returns the last rejection of a patch by a person.
func lastRejection(events []run.Event) (no run.ApprovalRejected) {
	patch := false
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.ApprovalRequested:
			patch = p.Permission == nil
		case run.ApprovalRejected:
			if patch {
				no = p
			}
		}
	}
	return no
}

// loadPending returns the bytes of the pending patch that a request asks for. Without one it answers the request.
func (p *page) loadPending(w http.ResponseWriter, r request, id run.ID) (patch []byte, ok bool) {
	pending, err := p.runs.Pending(r.Context(), id)
	if err != nil {
		showError(w, r, codeOf(err), err.Error())
		return nil, false
	}
	if pending.Approval == nil || pending.Approval.Permission != nil {
		showError(w, r, http.StatusNotFound, "No patch waits now.")
		return nil, false
	}
	want := askedOf(r).attempt
	a, _ := chooseAttempt(*pending.Approval, want)
	if want != "" && a.ApprovalID != want {
		showError(w, r, http.StatusNotFound, "That patch does not wait any more: another does.")
		return nil, false
	}
	if patch, err = p.record.Load(id, a.Patch); err != nil {
		showError(w, r, http.StatusNotFound, "The patch is not at hand here.")
		return nil, false
	}
	return patch, true
}

// servePatch answers with the exact bytes of a pending patch, as a text that a browser does not run.
func (p *page) servePatch(w http.ResponseWriter, r request, id run.ID) {
	patch, ok := p.loadPending(w, r, id)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment; filename=change.patch")
	_, _ = w.Write(patch)
}

// oneFile is the page of a file that the page of the run has no room for.
type oneFile struct {
	shell
	Run, Patch string // paths
	File       fileView
}

func (p *page) showFile(w http.ResponseWriter, r request, id run.ID) {
	patch, ok := p.loadPending(w, r, id)
	if !ok {
		return
	}
	files, err := hunks.Read(patch)
	n, err2 := strconv.Atoi(r.URL.Query().Get(fileField))
	if err != nil || err2 != nil || n < 0 || n >= len(files) {
		showError(w, r, http.StatusNotFound, "The patch has no such file.")
		return
	}
	v := showFiles(files[n:n+1], ownRoom())[0]
	v.Closed = false
	v.Link = RunPath(id) + "/patch?" + url.Values{attemptField: {askedOf(r).attempt}}.Encode()
	renderPage(w, http.StatusOK, "one-file", oneFile{
		shell{Title: v.Name, Caller: r.caller}, RunPath(id), v.Link, v,
	})
}
