package review

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// runView is the page of a run.
type runView struct {
	shell
	ID         run.ID
	Name, Path string
	Repository string
	Goal       string
	Links      []choice // to the server of the repository
	Status     string
	Mark       string // the class of the status
	Cost       string
	Waiting    bool
	Over       bool
	Since      string
	Deadline   string
	Limited    string
	Adrift     string   // the workflow was ended from outside, and what to do
	Doing      []string // what the run does now
	Failing    []string // why a step is tried again
	Moved      string
	Refused    []string // signals that the run did not take
	Gate       *gateView
	Question   *questionView
	Facts      [][2]string
	Plan       string
	Checks     []checkView
	ChecksOf   string
	Baseline   string
	Events     []eventView
	Result     *resultView // of a run that is over
	Diff       *gateView   // what it has changed
	Ask        int         // comments beside a yes, of which the person is asked; zero: none are
	Draft      string      // words of a form that was refused
	NoteDraft  string      // of the note's
	EditDraft  string      // of the patch's
	Words      string      // of a form that was refused, where the page has no field for them
	Once       string      // names the note of this form: sent twice it is one note
}

type questionView struct {
	ID, Title    string
	Text, Reason string
	Needed       []string
	Ways         []run.Way
	Choices      []string // the only words that are taken
	Retry        string   // what another try of the failed step leads to; empty: none did
}

type checkView struct {
	Command, Status, Took, Output, Reason string
	Passed                                bool
}

type eventView struct{ ID, At, Mark, Text string }

// seen is a run at one moment, with its events.
type seen struct {
	runs.View
	events []run.Event
}

// lookAt looks at a run.
func (p *page) lookAt(ctx context.Context, id run.ID) (s seen, err error) {
	if s.View, err = p.viewRun(ctx, id); err == nil {
		s.events, err = p.runs.Events(ctx, id, "")
	}
	return s, err
}

// viewRun returns the view of a run by its workflow, or by what is left of it. Pending is not nil.
func (p *page) viewRun(ctx context.Context, id run.ID) (runs.View, error) {
	v, err := p.runs.View(ctx, id)
	if v.Pending == nil {
		v.Pending = &run.Pending{Status: v.State.Status}
	}
	return v, err
}

// problem is why a form that was sent has done nothing, and the words that it held: of the note, or of any other form.
type problem struct {
	why, draft, note, edit string
	ask                    int // comments beside a yes, of which the person is asked
}

// showRun answers with the page of a run, and with the problem of a form.
func (p *page) showRun(w http.ResponseWriter, r request, id run.ID, wrong problem) {
	s, err := p.lookAt(r.Context(), id)
	if err != nil {
		showLoss(w, r, codeOf(err), err.Error(), wrong.draft+wrong.note+wrong.edit)
		return
	}
	v := p.viewOf(r.Context(), s, askedOf(r))
	v.shell = r.shell(v.Name)
	v.Wrong, v.Live = wrong.why, v.Path+"/live"
	v.Walk, v.Waits = p.walkFrom(r.Context(), v.Path)
	v.Ask, v.Draft, v.NoteDraft, v.EditDraft = wrong.ask, wrong.draft, wrong.note, wrong.edit
	switch {
	case v.Over:
		v.Words = safeText(wrong.draft + wrong.note + wrong.edit)
	case v.Gate == nil && (v.Question == nil || len(v.Question.Choices) > 0): // it was settled meanwhile
		v.Words = safeText(wrong.draft + wrong.edit)
	}
	code := http.StatusOK
	if wrong.why != "" || wrong.ask > 0 {
		code = http.StatusConflict
	}
	if v.Over && !v.Result.Merging {
		v.Live = ""
	}
	renderPage(w, code, "run", v)
}

func (p *page) viewOf(ctx context.Context, s seen, want asked) runView {
	f, listed := s.Facts, s.Listed
	if !s.Adrift {
		listed.Status = s.State.Status
	}
	if s.State.CurrentPhase != nil {
		listed.Phase = *s.State.CurrentPhase
	}
	v := runView{
		ID: f.RunID, Name: nameOf(listed), Path: RunPath(f.RunID), Repository: display.Line(filepath.Base(f.Repository.Shown())),
		Goal: safeText(f.Goal), Status: statusWords(listed), Waiting: s.State.Status.Waiting(), Over: s.State.Status.Terminal(),
		Since: display.Age(p.now().Sub(s.State.UpdatedAt)), Once: newOnce(), Mark: markOf(listed), Cost: f.Usage.String(),
	}
	if s.Pending.Deadline != nil {
		v.Deadline = s.Pending.Deadline.Local().Format(time.DateTime)
	}
	if l := s.Pending.Limited; l != nil {
		v.Limited = fmt.Sprintf("%s accepts no more requests until %s; the run then continues by itself.", display.Line(l.Provider), l.Until.Local().Format(time.DateTime))
	}
	for _, r := range s.Pending.RefusedSignals {
		v.Refused = append(v.Refused, display.Line(fmt.Sprintf("Refused at %s, signal %s: %s", r.At.Local().Format(time.TimeOnly), r.Signal, r.Reason)))
	}
	v.Links = p.linksOf(ctx, s)
	v.Moved = display.Line(f.Moved)
	adrift := s.Adrift && !v.Over
	if adrift {
		v.Waiting = false
		v.Adrift = display.Line(fmt.Sprintf("The run is not over, but %s: continue from its record with `starter resume %s`.", s.AdriftReason(), f.RunID))
	}
	if f.Baseline != nil {
		v.Baseline = display.Line(f.Baseline.Summary())
	}
	if v.Over {
		v.Result, v.Diff = p.resultOf(ctx, s), p.diffOf(ctx, s)
		if v.Result.Merged != "" {
			v.Status, v.Mark = "merged", "good"
		}
		if v.Result.Undone != "" {
			v.Status = "undone"
		}
	}
	v.addActivities(s.Execution, p.now())
	v.addFacts(f, s.State)
	p.addRecord(&v, s)
	if a := s.Pending.Approval; a != nil && !adrift {
		v.Gate = p.gateOf(f.RunID, *a, s.events, want)
	}
	if q := s.Pending.Question; q != nil && !adrift {
		v.Question = questionOf(*q)
	}
	return v
}

func (v *runView) addActivities(e runs.Execution, now time.Time) {
	if e.Canceling && !v.Over {
		v.Doing = append(v.Doing, "ending")
	}
	for _, a := range e.Activities {
		v.Doing = append(v.Doing, display.Line(display.FirstLine(cmp.Or(a.Beat.Doing, a.Step())))+" · "+display.Age(now.Sub(a.Since)))
		if a.Failure != "" {
			v.Failing = append(v.Failing, display.Line(display.FirstLine(a.Failure)))
		}
	}
}

func (v *runView) addFacts(f rundir.Facts, st run.State) {
	add := func(name, value string) {
		if value != "" {
			v.Facts = append(v.Facts, [2]string{name, display.Line(value)})
		}
	}
	add("Run", string(f.RunID))
	add("Repository", f.Repository.Shown())
	add("Branch", fmt.Sprintf("%s, %s, %s", f.Branch, display.Count(f.Commits, "commit", "commits"), f.Stat))
	if p := f.Providers; p.Planner == p.Developer && p.Fixer == p.Developer {
		add("Provider", p.Developer)
	} else {
		add("Plan by", p.Planner)
		add("Patch by", p.Developer)
		add("Fixes by", p.Fixer)
	}
	add("Evaluator", f.Providers.Evaluator)
	add("Checks", strings.Join(f.Checks, " · "))
	if f.Sandbox.Off() {
		add("Sandbox", "off, "+run.Unboxed)
	}
	if n := f.Usage.TotalTokens; n > 0 {
		add("Tokens", fmt.Sprint(n))
	}
	if f.Usage.Cost > 0 {
		add("Cost", f.Usage.Cost.String())
	}
	if n := len(f.Notes); n > 0 {
		add("Notes", fmt.Sprintf("%d for the next prompt", n))
	}
	if e := st.LastError; e != nil {
		add("Last error", e.Code+": "+display.FirstLine(e.Message))
	}
}

// addRecord adds the events, and the artifacts that they refer to.
func (p *page) addRecord(v *runView, s seen) {
	for _, e := range slices.Backward(s.events) {
		mark, text := review.EventLine(e)
		if mark != "" {
			v.Events = append(v.Events, eventView{e.ID, e.TS.Local().Format(time.TimeOnly), mark, display.Line(text)})
		}
		switch payload := e.Payload.(type) {
		case run.PhaseCompleted:
			if v.Plan == "" && e.Phase == run.Plan && payload.Artifact != nil {
				v.Plan = p.loadText(v.ID, *payload.Artifact)
			}
		case run.EvaluationPassed:
			p.addChecks(v, payload.Evaluation, e)
		case run.EvaluationFailedFixable:
			p.addChecks(v, payload.Evaluation, e)
		case run.EvaluationFailedBlocked:
			p.addChecks(v, payload.Evaluation, e)
		case run.PhaseStarted:
			if b := payload.Baseline; b != nil && v.Checks == nil {
				p.addReport(v, b.Report, "on the base commit")
			}
		}
	}
}

func (p *page) addChecks(v *runView, ev run.Evaluation, e run.Event) {
	if v.Checks == nil {
		p.addReport(v, ev.Report, fmt.Sprintf("after patch %d, %s ago", e.Iteration, display.Age(p.now().Sub(e.TS))))
	}
}

// checkWords say what became of a check.
var checkWords = map[check.Status]string{check.Pass: "passed", check.Fail: "failed", check.Error: "cannot run", check.Timeout: "timed out"}

func (p *page) addReport(v *runView, ref run.Ref, of string) {
	b, err := p.record.Load(v.ID, ref)
	var report check.Report
	if err != nil || json.Unmarshal(b, &report) != nil {
		return
	}
	v.ChecksOf = of
	for _, c := range report.Checks {
		between := ""
		if c.Bytes > int64(len(c.Head)+len(c.Tail)) {
			between = "\n…\n"
		}
		v.Checks = append(v.Checks, checkView{
			Command: display.Line(c.Command), Status: checkWords[c.Status], Passed: c.Status == check.Pass,
			Took: (time.Duration(c.DurationMs) * time.Millisecond).Round(100 * time.Millisecond).String(), Reason: display.Line(c.Reason),
			Output: safeText(strings.ToValidUTF8(c.Head+between+c.Tail, "")),
		})
	}
}

// maxText bounds a text of the record that is shown, in bytes.
const maxText = 64 << 10

func (p *page) loadText(id run.ID, ref run.Ref) string {
	b, err := p.record.Load(id, ref)
	if err != nil {
		return ""
	}
	text := safeText(string(b[:min(len(b), maxText)]))
	if len(b) > maxText {
		text += "\n…"
	}
	return text
}

// questionTitles say what kind of question waits.
var questionTitles = map[run.QuestionKind]string{
	run.AgentQuestion: "A question", run.ErrorQuestion: "A step failed", run.CheckQuestion: "A check could not run",
	run.BudgetQuestion: "A budget is used up", run.BaselineQuestion: "The checks cannot run on the base commit", run.RecordQuestion: "The record has more events than the run",
}

func questionOf(q run.PendingQuestion) *questionView {
	v := &questionView{
		ID: q.QuestionID, Title: questionTitles[q.Kind], Text: safeText(q.Question.Question), Reason: safeText(q.Reason), Ways: q.Next.Ways(), Retry: q.Next.Retry,
	}
	for _, n := range q.NeededInput {
		v.Needed = append(v.Needed, display.Line(n))
	}
	if q.Kind == run.BaselineQuestion {
		v.Choices = []string{"again", "without", "stop"}
	}
	return v
}
