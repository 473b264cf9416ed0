package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// brief holds the parts of a prompt that are not in the record.
type brief struct {
	complaint string   // the fault of the last answer to the same question
	report    *run.Ref // the report of the checks, if it is not in the record yet
	patch     *run.Ref // the patch to judge in place of the branch
}

func (a *Activities) prompter(ctx context.Context, c Call, b brief) func(provider.Capabilities) (provider.Request, error) {
	return func(can provider.Capabilities) (provider.Request, error) { return a.prompt(ctx, c, can, b) }
}

// prompt builds the request for the provider of the call.
func (a *Activities) prompt(ctx context.Context, c Call, can provider.Capabilities, b brief) (provider.Request, error) {
	in, err := a.fillFromRecord(a.runs.Run(c.RunID), c)
	if err != nil {
		return provider.Request{}, err
	}
	w, release, err := a.workspaces.use(ctx, c.Header)
	if err != nil {
		return provider.Request{}, err
	}
	defer release()
	if err := fillRepository(ctx, w, c, &in); err != nil {
		return provider.Request{}, err
	}
	if err := a.addBrief(&in, c, b); err != nil {
		return provider.Request{}, err
	}
	in.Edits, in.Explores = can.Edits, can.Explores
	p := prompt.Build(in)
	var context provider.Artifacts
	for _, art := range p.Artifacts {
		context = append(context, provider.Artifact{Name: art.Name, Path: art.Path, Content: a.redact.String(art.Content)})
	}
	return providerRequest(c, p.System, a.redact.String(p.User), context), nil
}

func (a *Activities) addBrief(in *prompt.In, c Call, b brief) error {
	if b.complaint != "" {
		in.Guidance = append(in.Guidance, run.Guidance{Kind: run.FromRefusal, Iteration: c.Iteration, Text: b.complaint})
	}
	if b.report != nil {
		if err := a.addReport(c.RunID, b.report, in); err != nil {
			return err
		}
	}
	if b.patch != nil {
		diff, err := a.runs.Run(c.RunID).Load(*b.patch)
		if err != nil {
			return report.Permanent(ArtifactError, err)
		}
		in.Diff = prompt.ReadDiff(diff)
	}
	return nil
}

// fillFromRecord fills in the facts of the record, which is up to date: the entry of
// the call has just been written.
func (a *Activities) fillFromRecord(dir *rundir.Dir, c Call) (prompt.In, error) {
	in := prompt.In{Role: c.Phase.Role(), Iteration: c.Iteration, Head: c.Head}
	s, err := dir.Rebuild()
	if err != nil {
		return in, report.Permanent(ArtifactError, err)
	}
	in.Goal, in.Guidance, in.Checks = s.Input.Goal, s.Guidance, s.Checks()
	in.RemainingFixes = s.Input.Fixes() - s.Fixes
	if in.Plan, err = loadForPrompt(dir, s.Plan, "the plan", &in); err != nil {
		return in, err
	}
	if in.Refused, err = loadForPrompt(dir, s.Refused, "the refused answer", &in); err != nil {
		return in, err
	}
	if s.Refused != nil {
		in.Problem = "Your last answer was refused. The last entry under Guidance says why."
	}
	if s.Refused != nil && s.RefusedAgain() {
		in.Problem = "Your last two answers were refused for the same reason, which the last entry under Guidance gives. The same approach would be refused again. Take another one: " +
			"copy the lines around the change from the files as they are given here, make the patch smaller, or answer with type ASK and say what prevents the patch."
	}
	if s.Report == nil && c.Phase != run.Evaluate {
		return in, a.addBaseline(c.RunID, s.BaselineReport(), &in)
	}
	return in, a.addReport(c.RunID, s.Report, &in)
}

// addBaseline adds the report of the checks on the base commit, while no later one is there.
func (a *Activities) addBaseline(id run.ID, ref *run.Ref, in *prompt.In) error {
	if ref == nil {
		return nil
	}
	e, err := a.loadEvaluation(id, *ref)
	in.Baseline, in.Mentioned = e.forPrompt(), e.Mentioned
	return err
}

// addReport adds the report of the checks.
func (a *Activities) addReport(id run.ID, ref *run.Ref, in *prompt.In) error {
	text, err := loadForPrompt(a.runs.Run(id), ref, "the report of the checks", in)
	if text == "" || err != nil {
		return err
	}
	var e Evaluation
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return report.Permanent(ArtifactError, fmt.Errorf("evaluation: %w", err))
	}
	in.Report, in.Mentioned = e.forPrompt(), e.Mentioned
	return nil
}

// loadForPrompt returns the text of an artifact; empty if there is none. If the
// artifact is gone or was altered, the prompt says that it is missing.
func loadForPrompt(dir *rundir.Dir, ref *run.Ref, what string, in *prompt.In) (string, error) {
	if ref == nil {
		return "", nil
	}
	b, err := dir.Load(*ref)
	if rundir.Lost(err) {
		in.Lost = append(in.Lost, fmt.Sprintf("%s (%s)", what, ref.Name))
		return "", nil
	}
	return string(b), err
}

// fillRepository fills in the files of the repository at the commit where the run
// stands, and the diff of the branch.
func fillRepository(ctx context.Context, w *workspace.Workspace, c Call, in *prompt.In) error {
	files, err := w.Files(ctx, c.Head)
	if err != nil {
		return err
	}
	for _, f := range files {
		in.Files = append(in.Files, prompt.File{Path: f.Path, Size: f.Size})
	}
	in.Read = func(path string) ([]byte, error) {
		b, _, err := w.Read(ctx, c.Head, path, prompt.MaxReadBytes)
		return b, err
	}
	if c.Head == c.Repository.Base {
		return nil
	}
	text := proc.NewHeadTail(maxDiff/2, maxDiff/2)
	kept := prompt.NewDiffFilter(text)
	if err := w.Diff(ctx, c.Repository.Base, c.Head, kept); err != nil {
		return err
	}
	in.Diff = kept.Close()
	in.Diff.Text = text.RawText()
	return nil
}
