package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// brief is what a prompt says beside what the record knows.
type brief struct {
	complaint string   // what was wrong with the last answer to the same question
	report    *run.Ref // the checks' report that is not in the record yet
	patch     *run.Ref // the patch that is judged in place of the branch
}

func (a *Activities) prompter(ctx context.Context, c Call, b brief) func(provider.Capabilities) (provider.Request, error) {
	return func(can provider.Capabilities) (provider.Request, error) { return a.prompt(ctx, c, can, b) }
}

// prompt writes what the provider of the call is told.
func (a *Activities) prompt(ctx context.Context, c Call, can provider.Capabilities, b brief) (provider.Request, error) {
	in, err := a.remembered(a.runs.Run(c.RunID), c)
	if err != nil {
		return provider.Request{}, err
	}
	w, release, err := a.workspaces.use(ctx, c.Header)
	if err != nil {
		return provider.Request{}, err
	}
	defer release()
	if err := look(ctx, w, c, &in); err != nil {
		return provider.Request{}, err
	}
	if err := a.add(&in, c, b); err != nil {
		return provider.Request{}, err
	}
	in.Edits, in.Explores = can.Edits, can.Explores
	p := prompt.Build(in)
	var context provider.Artifacts
	for _, art := range p.Artifacts {
		context = append(context, provider.Artifact{Name: art.Name, Path: art.Path, Content: a.redact.String(art.Content)})
	}
	return request(c, p.System, a.redact.String(p.User), context), nil
}

func (a *Activities) add(in *prompt.In, c Call, b brief) error {
	if b.complaint != "" {
		in.Guidance = append(in.Guidance, run.Guidance{Kind: run.FromRefusal, Iteration: c.Iteration, Text: b.complaint})
	}
	if b.report != nil {
		if err := a.reported(c.RunID, b.report, in); err != nil {
			return err
		}
	}
	if b.patch != nil {
		diff, err := a.runs.Run(c.RunID).Load(*b.patch)
		if err != nil {
			return permanent(ArtifactError, err)
		}
		in.Diff = string(diff)
	}
	return nil
}

// remembered fills in what the record knows. It is up to date: what the call
// brought has just been written.
func (a *Activities) remembered(dir *rundir.Dir, c Call) (prompt.In, error) {
	in := prompt.In{Role: c.Phase.Role(), Iteration: c.Iteration, Head: c.Head}
	s, err := dir.Rebuild()
	if err != nil {
		return in, permanent(ArtifactError, err)
	}
	in.Goal, in.Guidance, in.Checks = s.Input.Goal, s.Guidance, s.Input.Checks
	in.RemainingFixes = s.Input.Fixes() - s.Fixes
	if in.Plan, err = loaded(dir, s.Plan, "the plan", &in); err != nil {
		return in, err
	}
	if in.Refused, err = loaded(dir, s.Refused, "what was not taken", &in); err != nil {
		return in, err
	}
	if s.Refused != nil {
		in.Problem = "The last answer was not taken. The last entry under Guidance says why."
	}
	return in, a.reported(c.RunID, s.Report, &in)
}

// reported adds the report of the checks.
func (a *Activities) reported(id run.ID, ref *run.Ref, in *prompt.In) error {
	text, err := loaded(a.runs.Run(id), ref, "the report of the checks", in)
	if text == "" || err != nil {
		return err
	}
	var e Evaluation
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return permanent(ArtifactError, fmt.Errorf("evaluation: %w", err))
	}
	in.Report, in.Mentioned = e.forPrompt(), e.Mentioned
	return nil
}

// loaded is the text of an artifact; empty when there is none. One that is gone
// or was altered is not in the prompt, and the prompt says so.
func loaded(dir *rundir.Dir, ref *run.Ref, what string, in *prompt.In) (string, error) {
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

// look fills in what the repository holds at the commit where the run stands.
func look(ctx context.Context, w *workspace.Workspace, c Call, in *prompt.In) error {
	files, err := w.Files(ctx, c.Head)
	if err != nil {
		return err
	}
	for _, f := range files {
		in.Files = append(in.Files, prompt.File{Path: f.Path, Size: f.Size})
	}
	in.Read = func(path string) ([]byte, error) {
		b, _, err := w.Read(ctx, c.Head, path, prompt.DefaultBudget)
		return b, err
	}
	if c.Head == c.Repository.Base {
		return nil
	}
	diff := proc.NewHeadTail(maxDiff/2, maxDiff/2)
	if err := w.Diff(ctx, c.Repository.Base, c.Head, diff); err != nil {
		return err
	}
	in.Diff = diff.String()
	return nil
}
