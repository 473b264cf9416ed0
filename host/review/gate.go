package review

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// gateView is what waits for a decision: a patch, or a tool.
type gateView struct {
	ID      string // of exactly the patch or call that is shown
	Summary string
	Stat    string
	Facts   []review.Fact
	Next    run.Outlook
	Part    bool   // some of the files can be accepted
	Missing string // why not all of it is shown

	Attempts []attemptView // more than one: tabs

	// Of a patch.
	Files   []fileView
	Changes *changesView // against the patch that was refused; nil: none was

	// Of a tool.
	Tool, Input string
	Attempt     int
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

func (p *page) gateOf(id run.ID, a run.PendingApproval, events []run.Event, chosen string) *gateView {
	a, attempts := chooseAttempt(a, chosen)
	v := &gateView{
		ID: a.ApprovalID, Summary: display.Line(a.Summary), Facts: review.Facts(a), Next: a.Next, Attempts: attempts,
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
		v.Missing = "This patch cannot be shown file by file. See it with `starter diff`."
	}
	v.Files, v.Part = showFiles(files), a.Next.Part != "" && len(files) > 1
	v.Changes = p.changesOf(id, a, events, files)
	return v
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
	label := "Attempt " + itoa(n)
	if provider != "" {
		label += " · " + display.Line(provider)
	}
	return label + " · +" + itoa(s.Added) + " −" + itoa(s.Deleted)
}

func (p *page) addTool(v *gateView, id run.ID, a run.PendingApproval) {
	v.Tool, v.Attempt = display.Line(a.Permission.Tool), a.Permission.Candidate
	input := []byte(a.Permission.Excerpt)
	if whole, err := p.record.Load(id, a.Permission.Input); err == nil {
		input = whole
	} else if strings.HasSuffix(a.Permission.Excerpt, "…") {
		v.Missing = "Not all of the input is at hand here: this is its head."
	}
	v.Input = readableInput(input)
}

// readableInput returns the input of a tool for a reader: one command as it is, and all else as indented JSON.
func readableInput(input []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, input, "", "  ") == nil {
		input = b.Bytes()
	}
	return safeText(string(input))
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
		v.Unknown = "The refused patch cannot be compared with this one."
	case len(changed) == 0:
		v.None = true
	default:
		v.Files = showFiles(changed)
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

// servePatch answers with the exact bytes of a pending patch, as a text that a browser does not run.
func (p *page) servePatch(w http.ResponseWriter, r request, id run.ID) {
	pending, err := p.runs.Pending(r.Context(), id)
	if err != nil {
		showError(w, r, codeOf(err), err.Error())
		return
	}
	if pending.Approval == nil || pending.Approval.Permission != nil {
		showError(w, r, http.StatusNotFound, "No patch waits now.")
		return
	}
	a, _ := chooseAttempt(*pending.Approval, r.URL.Query().Get("approval"))
	b, err := p.record.Load(id, a.Patch)
	if err != nil {
		showError(w, r, http.StatusNotFound, "The patch is not at hand here.")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment; filename=change.patch")
	_, _ = w.Write(b)
}
