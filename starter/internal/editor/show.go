package editor

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/udiff"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

// showEvent shows an event.
func (s *session) showEvent(e run.Event) error {
	s.showLines(e)
	switch p := e.Payload.(type) {
	case run.RunCreated:
		s.input, s.name = p.Input, p.Name
	case run.PhaseStarted:
		s.prose = 0
		if e.Phase == run.Execute || e.Phase == run.Fix {
			s.showPlan(sdk.PlanEntryStatusInProgress)
		}
	case run.PhaseCompleted:
		if p.Result == run.Planned && p.Artifact != nil {
			s.takePlan(*p.Artifact)
		}
	case run.PatchProduced:
		s.showPatch(e, p.Proposal)
	case run.ApprovalRequested:
		if p.Permission != nil {
			s.showPermission(p)
		}
	case run.ApprovalGranted:
		if s.isTool(p.ApprovalID) {
			s.closeCall(toolCallID(p.ApprovalID), sdk.ToolCallStatusCompleted)
		}
	case run.ApprovalRejected:
		if s.isTool(p.ApprovalID) {
			s.closeCall(toolCallID(p.ApprovalID), sdk.ToolCallStatusFailed)
		} else {
			s.closeCall(s.patch, sdk.ToolCallStatusFailed)
		}
	case run.PatchApplied:
		s.closeCall(s.patch, sdk.ToolCallStatusCompleted)
	case run.PatchApplyFailed:
		s.closeCall(s.patch, sdk.ToolCallStatusFailed)
	case run.RunCompleted:
		s.showPlan(sdk.PlanEntryStatusCompleted)
	}
	return nil
}

// showLines shows an event in the words that the terminal has for it. A goal of earlier is the user's message.
func (s *session) showLines(e run.Event) {
	if p, ok := e.Payload.(run.RunCreated); ok && !s.loaded {
		text := p.Goal
		if p.Before != nil {
			for _, g := range p.Before.Guidance {
				if g.Kind == run.FromNote {
					text = g.Text
				}
			}
		}
		s.update(sdk.UpdateUserMessageText(text))
	}
	var lines []string
	for _, line := range s.formatter.Lines(e) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		s.say("%s", strings.Join(lines, "  \n")) // a line break of Markdown
	}
}

// load reads an artifact of the run. An error means that it is not on this host.
func (s *session) load(ref run.Ref) ([]byte, error) {
	dir, err := s.OpenRecord(s.run)
	if err != nil {
		return nil, err
	}
	return dir.Load(ref)
}

// takePlan shows the plan: as it is, and as a list of its steps.
func (s *session) takePlan(ref run.Ref) {
	text, err := s.load(ref)
	if err != nil {
		return
	}
	s.say("%s", text)
	s.plan = stepsOf(string(text))
	s.showPlan(sdk.PlanEntryStatusPending)
}

var step = regexp.MustCompile(`^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.+)`)

// maxSteps is the most steps of a plan that are listed.
const maxSteps = 20

// stepsOf returns the steps of a plan: the items of its lists that are not below others. A plan without any is one step.
func stepsOf(plan string) (steps []string) {
	for line := range strings.Lines(plan) {
		if m := step.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && len(steps) < maxSteps {
			steps = append(steps, display.OneLine(m[1], 200))
		}
	}
	if first := strings.TrimSpace(strings.TrimLeft(display.FirstLine(plan), "# ")); len(steps) == 0 && first != "" {
		return []string{display.OneLine(first, 200)}
	}
	return steps
}

// showPlan shows the plan. The agent works on all of it at a time, so that its steps have one status.
func (s *session) showPlan(status sdk.PlanEntryStatus) {
	if len(s.plan) == 0 {
		return
	}
	var entries []sdk.PlanEntry
	for _, text := range s.plan {
		entries = append(entries, sdk.PlanEntry{Content: text, Priority: sdk.PlanEntryPriorityMedium, Status: status})
	}
	s.update(sdk.UpdatePlan(entries...))
}

// showPatch shows a patch as a tool call with its diff.
func (s *session) showPatch(e run.Event, p run.Proposal) {
	s.patch = sdk.ToolCallId("patch-" + e.ID)
	content, at := s.drawPatch(p.Patch, p.Excerpt)
	s.update(sdk.StartToolCall(s.patch, fmt.Sprintf("%s (%s)", story.OneLine(p.Summary, 200), p.Stat),
		sdk.WithStartKind(sdk.ToolKindEdit), sdk.WithStartStatus(sdk.ToolCallStatusPending), sdk.WithStartContent(content), sdk.WithStartLocations(at)))
}

// maxDrawn bounds the text of a patch that an editor gets.
const maxDrawn = 1 << 20

// drawPatch returns the diff of a patch, and the places that it changes.
func (s *session) drawPatch(ref run.Ref, excerpt string) (content []sdk.ToolCallContent, at []sdk.ToolCallLocation) {
	raw, err := s.load(ref)
	var files []hunks.File
	if err == nil {
		files, err = hunks.Read(raw)
	}
	if err != nil { // the record is on another host
		return []sdk.ToolCallContent{textContent("```diff\n" + display.Text([]byte(excerpt)) + "\n```\n\nThis is only the beginning of the patch: `" + s.Hint("diff %s", s.shownName()) + "` on the worker's host shows it.")}, nil
	}
	drawn := 0
	for i, f := range files {
		for _, c := range drawFile(filepath.Join(s.input.Repository.Path, filepath.FromSlash(f.Name)), f) {
			if d := c.Diff; d != nil {
				if drawn += len(d.NewText); d.OldText != nil {
					drawn += len(*d.OldText)
				}
			}
			if drawn > maxDrawn {
				return append(content, textContent(fmt.Sprintf("The patch is too long to show here: %d of its %d files are missing, all or in part. `%s` shows it.", len(files)-i, len(files), s.Hint("diff %s", s.shownName())))), at
			}
			content = append(content, c)
		}
		at = append(at, locationsOf(filepath.Join(s.input.Repository.Path, filepath.FromSlash(f.Name)), f)...)
	}
	return content, at
}

// drawFile returns the diff of a file: a piece for each hunk, and a line for what a diff does not show. Deceptive
// characters are made visible.
func drawFile(path string, f hunks.File) (content []sdk.ToolCallContent) {
	var facts []string
	if f.Change != hunks.Modified && f.Change != hunks.Added || len(f.Hunks) == 0 {
		facts = append(facts, string(f.Change))
	}
	if f.From != "" {
		facts = append(facts, "from "+display.Line(f.From))
	}
	if f.Mode != "" {
		facts = append(facts, "mode "+display.Line(f.Mode))
	}
	if f.Binary {
		facts = append(facts, "binary file, not shown")
	}
	if len(facts) > 0 {
		content = append(content, textContent(display.Line(f.Name)+": "+strings.Join(facts, ", ")))
	}
	for _, h := range f.Hunks {
		var before, after strings.Builder
		for _, l := range h.Lines {
			text := display.Code(l.Text) + "\n"
			if l.NoEOL {
				text = strings.TrimSuffix(text, "\n")
			}
			if l.Op != udiff.Insert {
				before.WriteString(text)
			}
			if l.Op != udiff.Delete {
				after.WriteString(text)
			}
		}
		if f.Change == hunks.Added {
			content = append(content, sdk.ToolDiffContent(path, after.String()))
			continue
		}
		content = append(content, sdk.ToolDiffContent(path, after.String(), before.String()))
	}
	return content
}

// locationsOf returns the first line of each hunk.
func locationsOf(path string, f hunks.File) (at []sdk.ToolCallLocation) {
	for _, h := range f.Hunks {
		place := sdk.ToolCallLocation{Path: path}
		for _, l := range h.Lines {
			if l.New > 0 {
				place.Line = sdk.Ptr(l.New)
				break
			}
		}
		at = append(at, place)
	}
	return at
}

func textContent(text string) sdk.ToolCallContent { return sdk.ToolContent(sdk.TextBlock(text)) }

// toolCallID returns the id of the tool call that an approval is about.
func toolCallID(approvalID string) sdk.ToolCallId { return sdk.ToolCallId("tool-" + approvalID) }

func (s *session) isTool(approvalID string) bool { return s.tools[approvalID] }

// showPermission shows a tool call of the agent that waits for a permission.
func (s *session) showPermission(p run.ApprovalRequested) {
	if s.tools == nil {
		s.tools = map[string]bool{}
	}
	s.tools[p.ApprovalID] = true
	s.update(sdk.StartToolCall(toolCallID(p.ApprovalID), story.OneLine(p.Permission.Summary(), 200), sdk.WithStartKind(kindOf(p.Permission.Tool)),
		sdk.WithStartStatus(sdk.ToolCallStatusPending), sdk.WithStartContent(s.drawPermission(*p.Permission))))
}

// drawPermission returns the whole input of a tool call.
func (s *session) drawPermission(p run.Permission) []sdk.ToolCallContent {
	raw, err := s.load(p.Input)
	if err != nil {
		return []sdk.ToolCallContent{textContent("```\n" + display.Text([]byte(p.Excerpt)) + "\n```\n\nThis is only the beginning: the rest is in the run's directory on the worker's host.")}
	}
	return []sdk.ToolCallContent{textContent("```json\n" + string(display.JSON(raw)) + "\n```")}
}

func (s *session) closeCall(id sdk.ToolCallId, status sdk.ToolCallStatus) {
	if id != "" {
		s.update(sdk.UpdateToolCall(id, sdk.WithUpdateStatus(status)))
	}
}

// kinds are the protocol's kinds of tools, by a part of the tool's name.
var kinds = []struct {
	part string
	kind sdk.ToolKind
}{
	{"bash", sdk.ToolKindExecute}, {"shell", sdk.ToolKindExecute}, {"exec", sdk.ToolKindExecute}, {"command", sdk.ToolKindExecute},
	{"fetch", sdk.ToolKindFetch}, {"web", sdk.ToolKindFetch}, {"grep", sdk.ToolKindSearch}, {"glob", sdk.ToolKindSearch}, {"search", sdk.ToolKindSearch},
	{"edit", sdk.ToolKindEdit}, {"write", sdk.ToolKindEdit}, {"patch", sdk.ToolKindEdit}, {"read", sdk.ToolKindRead},
}

func kindOf(tool string) sdk.ToolKind {
	tool = strings.ToLower(tool)
	for _, k := range kinds {
		if strings.Contains(tool, k.part) {
			return k.kind
		}
	}
	return sdk.ToolKindOther
}

// showTool shows a tool call that has ended, or a note that the agent has read.
func (s *session) showTool(t rundir.ToolCall) {
	if t.Note {
		s.say("The agent has read: %s", story.OneLine(t.Target, 600))
		return
	}
	s.calls++
	status := sdk.ToolCallStatusCompleted
	if t.Failed {
		status = sdk.ToolCallStatusFailed
	}
	var content []sdk.ToolCallContent
	if t.Output != "" {
		content = append(content, textContent("```\n"+display.Text([]byte(t.Output))+"\n```"))
	}
	title := strings.TrimSpace(story.OneLine(t.Tool, 40) + " " + story.OneLine(t.Target, 200) + " " + story.OneLine(t.Change, 20))
	s.update(sdk.StartToolCall(sdk.ToolCallId(fmt.Sprintf("call-%d", s.calls)), title,
		sdk.WithStartKind(kindOf(t.Tool)), sdk.WithStartStatus(status), sdk.WithStartContent(content)))
}

// callers are the activities that call a provider.
var callers = map[string]bool{"Plan": true, "Propose": true, "Judge": true}

// showProse shows what the model has written since the last look. Of several at a time it shows nothing.
func (s *session) showProse(_ context.Context, e runs.Execution) error {
	var writing []runs.Activity
	for _, a := range e.Activities {
		if callers[a.Name] && a.Running {
			writing = append(writing, a)
		}
	}
	if len(writing) != 1 {
		return nil
	}
	beat := writing[0].Beat
	if beat.Bytes < s.prose {
		s.prose = 0 // another call
	}
	if text := newText(beat.Tail, beat.Bytes-s.prose); text != "" {
		s.update(sdk.UpdateAgentThoughtText(display.Text([]byte(text))))
	}
	s.prose = beat.Bytes
	return nil
}

// newText returns the last n bytes of a tail, in whole characters. A tail with less begins with a mark.
func newText(tail string, n int64) string {
	switch {
	case n <= 0:
		return ""
	case n > int64(len(tail)):
		return "… " + tail
	}
	return strings.ToValidUTF8(tail[int64(len(tail))-n:], "")
}
