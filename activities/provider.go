package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/gate"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/thinking"
	"github.com/ratchet-dev/ratchet/internal/verdict"
)

// Bounds of the texts that a result carries into history.
const (
	maxExcerpt = 4 << 10
	maxFiles   = 20
	maxList    = 10
	maxDiff    = 64 << 10 // of the branch's diff in a prompt
)

// Plan asks the planner. A second call finds the answer of the first.
func (a *Activities) Plan(ctx context.Context, c Call) (_ PlanResult, err error) {
	defer makePermanent(&err)
	r, err := a.callProvider(ctx, c, a.prompter(ctx, c, brief{}))
	if err != nil || r.halt != nil {
		return PlanResult{Halt: r.halt, Usage: r.usage}, err
	}
	defer func() { err = addSpent(err, r.usage, r.retries) }()
	said, err := thinking.Cut(r.text)
	if err != nil {
		return PlanResult{}, report.Permanent(string(failure.BadRequest), fmt.Errorf("the plan cannot be read: %w", err))
	}
	text := strings.TrimSpace(string(said))
	if text == "" || r.finish != provider.Stop {
		return PlanResult{}, report.Permanent(string(failure.BadRequest), fmt.Errorf("the plan is empty or cut short (%s)", r.finish))
	}
	plan, err := a.runs.Run(c.RunID).Keep(c.Artifact("md"), append([]byte(text), '\n'))
	failpoint.Hit("plan.kept")
	return PlanResult{Plan: plan, Summary: planHeadline(text), Usage: r.usage, Retries: r.retries}, err
}

// Propose asks the developer or the fixer, reads the answer and plans the
// patch on the commit where the run stands. Nothing is applied. A second call
// finds the answer of the first.
func (a *Activities) Propose(ctx context.Context, c Call) (_ ProposeResult, err error) {
	defer makePermanent(&err)
	if out, err := a.findLost(ctx, c); err != nil {
		return ProposeResult{}, a.addStoredUsage(c, err)
	} else if out != nil {
		return *out, nil
	}
	r, err := a.callProvider(ctx, c, a.prompter(ctx, c, brief{}))
	if err != nil || r.halt != nil {
		return ProposeResult{Halt: r.halt, Usage: r.usage}, err
	}
	defer func() { err = addSpent(err, r.usage, r.retries) }()
	out := ProposeResult{Raw: r.raw, Usage: r.usage, Retries: r.retries}
	ans, err := readAnswer(r)
	if bad, ok := errors.AsType[*answer.Error](err); ok {
		out.Violation = &run.Problem{Code: string(bad.Code), Message: display.Clip(bad.Message, run.MaxTextBytes/2)}
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("read the answer: %w", err)
	}
	out.Summary = report.Summary(display.Line(ans.Summary))
	switch ans.Kind {
	case answer.Ask:
		out.Question = &run.Question{
			Question: display.Clip(ans.Question, run.MaxTextBytes/4), Reason: display.Clip(ans.Reason, run.MaxTextBytes/4),
			NeededInput: clipAll(ans.NeededInput),
		}
	case answer.Noop:
		out.Summary = report.Summary(ans.Reason)
	default:
		err = a.planProposal(ctx, c, ans, &out)
	}
	return out, err
}

// readAnswer reads the answer. If an agent changed its checkout, the changes are its
// patch. If it changed nothing, its text is the answer. An answer with both is an
// *answer.Error.
func readAnswer(r reply) (answer.Answer, error) {
	ans, err := answer.Parse(r.text, string(r.finish))
	if len(r.changes) == 0 || r.finish != provider.Stop {
		return ans, err
	}
	if answer.HasResultBlock(r.text) {
		return answer.Answer{}, &answer.Error{Code: answer.Contradiction, Message: "You changed files and gave a result block as well. Give only one of the two."}
	}
	return answer.Answer{Kind: answer.Patch, Summary: cmp.Or(lastLine(r.text), "Change files"), Diff: r.changes}, nil
}

// lastLine returns the last line of a message that holds text.
func lastLine(text []byte) string {
	for _, line := range slices.Backward(strings.Split(string(text), "\n")) {
		if line = strings.Trim(line, "#*- \t\r`"); line != "" {
			return line
		}
	}
	return ""
}

// planProposal plans the patch and keeps the diff to apply, rendered from the bytes
// before and after. A patch that is refused is kept as the provider wrote it. If the
// text is not a diff, the answer violates the output contract.
func (a *Activities) planProposal(ctx context.Context, c Call, ans answer.Answer, out *ProposeResult) error {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "places the patch"})
	defer stop()
	w, release, err := a.workspaces.use(ctx, c.Header)
	if err != nil {
		return err
	}
	defer release()
	change, diff, err := a.planMasked(ctx, w, c.Head, ans.Diff, patch.Limits{Files: c.Patches.Files, Bytes: c.Patches.Bytes})
	if err == nil && c.Patches.NoWorkflows {
		err = refuseWorkflows(change)
	}
	refusal, refused := errors.AsType[*patch.Refusal](err)
	if err != nil && !refused {
		return err
	}
	if refused && refusal.Kind == patch.NotADiff {
		out.Violation = refusalProblem(refusal)
		return nil
	}
	out.Proposal = &run.Proposal{Base: c.Head, Raw: out.Raw, Summary: out.Summary}
	if refused {
		diff, out.Refusal = ans.Diff, refusalProblem(refusal)
	} else {
		describeProposal(out.Proposal, change, diff, a.guardedPaths(c))
	}
	out.Proposal.Patch, err = a.runs.Run(c.RunID).Keep(c.patchName(), diff)
	failpoint.Hit("propose.kept")
	return err
}

// refuseWorkflows refuses a change of the server's own continuous integration.
func refuseWorkflows(change *patch.Change) error {
	for _, f := range change.Files {
		for _, path := range []string{f.Path, f.OldPath} {
			if strings.HasPrefix(strings.ToLower(path), ".github/workflows/") {
				return &patch.Refusal{Kind: patch.Policy, Path: path, Message: "The token by which the branch is pushed may not change .github/workflows (it lacks the scope workflow). Leave these files as they are."}
			}
		}
	}
	return nil
}

// describeProposal fills in the facts about the change that a person should know.
func describeProposal(p *run.Proposal, change *patch.Change, diff []byte, guards []gate.Guard) {
	p.Stat = run.Stat(change.Stat())
	facts := gate.Facts{Guards: guards}
	for _, f := range change.Files {
		facts.Files = append(facts.Files, gate.File{
			Path: f.Path, OldPath: f.OldPath, Deleted: f.Kind == patch.Deleted, Added: f.Added, Removed: f.Deleted,
		})
		if len(p.Files) < maxFiles {
			p.Files = append(p.Files, fmt.Sprintf("%s %s +%d -%d", f.Kind, report.Summary(display.Line(f.Path)), f.Added, f.Deleted))
		}
	}
	for _, r := range change.Sensitive {
		facts.Sensitive = append(facts.Sensitive, fmt.Sprintf("%s: %s", display.Line(r.Path), r.Reason))
	}
	p.Risks = clipEach(gate.FindRisks(facts)) // it bounds their number, and says how many it leaves out
	for _, r := range change.Repairs {
		p.Repairs = append(p.Repairs, fmt.Sprintf("%s hunk %d: %s %s", display.Line(r.Path), r.Hunk, r.Kind, display.Line(r.Detail)))
	}
	p.Repairs = clipAll(p.Repairs)
	p.Excerpt = display.Clip(display.Text(diff), maxExcerpt)
}

// Judge asks the evaluator about a result whose checks passed. If the answer has no
// usable decision, Judge asks once more and says so. A second such answer leads to a
// blocked verdict, never to a pass. A second call finds the answers of the first.
func (a *Activities) Judge(ctx context.Context, in JudgeInput) (_ Judgement, err error) {
	defer makePermanent(&err)
	out := Judgement{Usage: &run.Usage{}}
	defer func() { err = addSpent(err, *out.Usage, out.Retries) }()
	complaint := ""
	for question := range questionsPerJudgement {
		c := in.Call
		c.Number, c.Left = judgeCallNumber(in.Number, question), in.Left.After(*out.Usage)
		r, err := a.callProvider(ctx, c, a.prompter(ctx, c, brief{complaint: complaint, report: &in.Report, patch: in.Patch}))
		if err != nil {
			return out, err
		}
		*out.Usage = out.Usage.Add(r.usage)
		out.Retries = run.AddRetries(out.Retries, r.retries)
		if r.halt != nil {
			out.Halt = r.halt
			return out, nil
		}
		v, err := parseVerdict(r)
		if err == nil {
			return a.keepVerdict(in, out, v)
		}
		bad, ok := errors.AsType[*verdict.Error](err)
		if !ok {
			return out, fmt.Errorf("read the verdict: %w", err)
		}
		complaint = bad.Message
	}
	return a.keepNoVerdict(in, out, "the evaluator gave no usable decision: "+complaint)
}

// questionsPerJudgement bounds the questions of one Judge to the evaluator.
const questionsPerJudgement = 2

// judgeCallNumber returns the number of a call to the evaluator: evaluation n, from 1,
// makes the calls 2n-1 and 2n. Question counts the calls of one evaluation from 0.
func judgeCallNumber(evaluation, question int) int {
	return (evaluation-1)*questionsPerJudgement + 1 + question
}

// parseVerdict reads the evaluator's verdict from its answer. An answer that the
// provider did not finish holds no verdict, for the missing rest could revoke it.
func parseVerdict(r reply) (verdict.Verdict, error) {
	if r.finish != provider.Stop {
		return verdict.Verdict{}, &verdict.Error{
			Code:    verdict.NoDecision,
			Message: fmt.Sprintf("The answer was cut off (%s). Give the decision again, with shorter reasons.", r.finish),
		}
	}
	return verdict.Parse(string(r.text))
}

// resultOf maps the evaluator's decision to the result of the phase.
var resultOf = map[verdict.Word]run.Result{verdict.Pass: run.Pass, verdict.Fix: run.Fixable, verdict.Ask: run.Blocked}

// keepVerdict adds the evaluator's verdict to the judgement and to the report of the
// checks, and keeps the report.
func (a *Activities) keepVerdict(in JudgeInput, out Judgement, v verdict.Verdict) (Judgement, error) {
	out.Verdict, out.Reasons = resultOf[v.Decision], clipAll(v.Reasons)
	if out.Verdict == run.Blocked {
		out.Question = &run.Question{Question: display.Clip(v.Question, run.MaxTextBytes/4), Reason: "the evaluator asks"}
	}
	e, err := a.loadEvaluation(in.RunID, in.Report)
	if err != nil {
		return out, err
	}
	e.Verdict, e.Reasons = v.Decision, v.Reasons
	name := evaluationName(in.Iteration, in.Number, 0)
	if in.Candidate > 0 { // the record refers to the report of the checks, too
		name = in.Artifact("judged.json")
	}
	out.Report, err = a.keepEvaluation(in.RunID, name, e)
	return out, err
}

// keepNoVerdict returns the blocked judgement of an evaluator that does not decide,
// and keeps its report.
func (a *Activities) keepNoVerdict(in JudgeInput, out Judgement, why string) (Judgement, error) {
	out, err := a.keepVerdict(in, out, verdict.Verdict{
		Decision: verdict.Ask, Reasons: []string{why}, Question: "The evaluator gave no usable decision. What should it know?",
	})
	out.Again = true
	out.Question.Reason = report.Summary(why)
	out.Question.NeededInput = []string{
		"any text asks the evaluator again, with your text in its prompt",
		"or, if the result is at fault: " + run.FixWord + " and what to change",
	}
	return out, err
}

// partNames are headings that name a part of every plan.
var partNames = []string{"", "plan", "goal", "goals", "overview", "summary", "context", "steps", "approach"}

// planHeadline returns the first line of a plan that says what this one is about.
func planHeadline(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.Trim(line, "#*- \t\r\n"), "[ ] ")
		if !slices.Contains(partNames, strings.ToLower(strings.Trim(line, ":"))) {
			return report.Summary(display.Line(line))
		}
	}
	return ""
}

func clipAll(list []string) []string { return clipEach(list[:min(len(list), maxList)]) }

func clipEach(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = report.Summary(list[i])
	}
	return list
}
