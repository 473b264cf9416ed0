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
	Then    string // what Apply does
	Part    bool   // some of the files or hunks can be accepted
	Edit    string // the patch, for an edit; empty: the page offers none
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
	return asked{attempt: cmp.Or(r.URL.Query().Get(attemptField), r.PostForm.Get(idField)), shown: r.Header.Get(shownHeader)}
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
	v.Stat, v.Then = a.Stat.String(), thenWords(a.Next.Approve)
	patch, err := p.record.Load(id, a.Patch)
	if err != nil {
		v.Missing = "Only the beginning of this patch is on this host. See all of it with `starter diff` on the worker's host."
		patch = []byte(a.Excerpt)
	}
	files := v.readFiles(id, patch)
	n := 0
	for _, f := range files {
		n += max(1, len(f.Hunks))
	}
	v.Part = a.Next.Part != "" && n > 1
	if text := string(patch); a.Next.Edit != "" && err == nil && len(text) <= run.MaxEditBytes && safeText(text) == text { // a field shows no other
		v.Edit = text
	}
	v.Changes = p.changesOf(id, a, events, files)
	return v
}

// thenWords returns the consequence of Apply, in the words of the run.
func thenWords(next string) string {
	switch rest := strings.TrimPrefix(next, "the patch is applied, and "); {
	case strings.HasPrefix(rest, "the checks run"):
		return "puts the patch on the branch, then runs the checks" + strings.TrimPrefix(rest, "the checks run")
	case rest != next && rest != "":
		return "puts the patch on the branch, then " + rest
	}
	return next
}

// readFiles adds the files of a patch, and returns them.
func (v *gateView) readFiles(id run.ID, patch []byte) []hunks.File {
	files, err := hunks.Read(patch)
	if err != nil {
		v.Missing = "This patch cannot be shown file by file."
		v.Whole = RunPath(id) + "/patch?" + url.Values{attemptField: {v.ID}}.Encode()
	}
	v.addFiles(id, files)
	return files
}

// addFiles adds the files of the patch. It says what there is no room for.
func (v *gateView) addFiles(id run.ID, files []hunks.File) {
	v.Files = showFiles(files, sharedRoom())
	lines, cut := 0, 0
	for i, f := range v.Files {
		lines, cut = lines+f.Hidden, cut+f.Cut
		if f.LeftOut() != "" {
			v.Files[i].Link = RunPath(id) + "/file?" + url.Values{attemptField: {v.ID}, fileField: {strconv.Itoa(i)}}.Encode()
		}
	}
	if out := leftOut(len(files)-len(v.Files), lines, cut); out != "" {
		v.Missing = strings.TrimSpace(v.Missing + " This patch is too long for a page: " + out + " left out here. Your decision covers all of it.")
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
	label := "Attempt " + strconv.Itoa(n) + " · +" + strconv.Itoa(s.Added) + " −" + strconv.Itoa(s.Deleted)
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
		v.Missing = "Only the beginning of the input is on this host."
	}
	call := toolcall.Read(a.Permission.Tool, input).Within(a.Permission.Dir)
	v.Input = safeText(cmp.Or(call.Command, call.Target))
	for _, m := range call.Rest {
		v.Rest = append(v.Rest, toolcall.Member{Name: display.Line(m.Name), Value: safeText(m.Value)})
	}
}

// changesOf returns how the patch differs from the one that was refused before it; nil: none was.
func (p *page) changesOf(id run.ID, a run.PendingApproval, events []run.Event, files []hunks.File) *changesView {
	if a.Refused == nil {
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
		v.Unknown = "This patch cannot be compared with the one you sent back."
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

// loadShown returns the bytes of the pending patch that a request asks for, or what a run that is over has changed. Where
// there is neither it answers the request.
func (p *page) loadShown(w http.ResponseWriter, r request, id run.ID) (patch []byte, ok bool) {
	patch, err := p.findShown(r, id)
	if err != nil {
		showError(w, r, codeOf(err), err.Error())
	}
	return patch, err == nil
}

func (p *page) findShown(r request, id run.ID) ([]byte, error) {
	v, err := p.viewRun(r.Context(), id)
	if err != nil {
		return nil, err
	}
	pending := v.Pending
	want := askedOf(r).attempt
	if pending.Approval == nil && pending.Status.Terminal() && want == "" {
		if patch, err := p.record.Diff(r.Context(), v.Facts); err == nil {
			return patch, nil
		}
		return nil, missingError("The diff is not on this host.")
	}
	if pending.Approval == nil || pending.Approval.Permission != nil {
		return nil, missingError("No patch is waiting now.")
	}
	a, _ := chooseAttempt(*pending.Approval, want)
	if want != "" && a.ApprovalID != want {
		return nil, missingError("Another patch is waiting now.")
	}
	patch, err := p.record.Load(id, a.Patch)
	if err != nil {
		return nil, missingError("The patch is not on this host.")
	}
	return patch, nil
}

// servePatch answers with the exact bytes of the patch that is shown, as a text that a browser does not run.
func (p *page) servePatch(w http.ResponseWriter, r request, id run.ID) {
	patch, ok := p.loadShown(w, r, id)
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
	patch, ok := p.loadShown(w, r, id)
	if !ok {
		return
	}
	files, err := hunks.Read(patch)
	n, err2 := strconv.Atoi(r.URL.Query().Get(fileField))
	if err != nil || err2 != nil || n < 0 || n >= len(files) {
		showError(w, r, http.StatusNotFound, "The patch has no such file.")
		return
	}
	v := showFiles(files[n:n+1], &room{maxAlone, maxAlone - lineCost, maxColour})[0]
	v.Closed = false
	v.Link = RunPath(id) + "/patch?" + url.Values{attemptField: {askedOf(r).attempt}}.Encode()
	renderPage(w, http.StatusOK, "one-file", oneFile{
		shell{Title: v.Name, Caller: r.caller}, RunPath(id), v.Link, v,
	})
}
