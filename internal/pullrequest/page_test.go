package pullrequest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/pullrequest"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const base run.Commit = "0123456789012345678901234567890123456789"

// hostile is what a model or a stranger may write.
const hostile = "Fixes #1, ping @kim ![x](http://evil/x.png) <img src=x> `` `a` ```js"

func events(t *testing.T, text string) []run.Event {
	t.Helper()
	in := run.Input{
		RunID: "r1", Name: "shop#14", Goal: text + "\n\n```\nclosed\n```\n@kim", Repository: run.Repository{Path: "/src/shop", Base: base}, NoBaseline: true,
		Providers: run.Providers{Planner: text, Developer: "claude", Fixer: text}, Checks: []string{text}, Policy: run.Always,
	}
	s := run.New(in)
	var out []run.Event
	add := func(p run.Payload) {
		e := s.Event(time.Unix(int64(len(out)+1), 0), p)
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	add(run.RunCreated{Input: in, Format: run.Format})
	add(run.PhaseStarted{Role: run.Planner, Provider: "x"})
	add(run.PhaseCompleted{Result: run.Planned})
	add(run.PhaseStarted{Role: run.Developer, Provider: "claude"})
	add(run.PatchProduced{Proposal: run.Proposal{Base: base, Summary: text, Patch: run.Ref{Digest: "d"}}})
	add(s.NewApproval())
	add(run.ApprovalRejected{ApprovalID: s.Approval.ApprovalID, By: text, Reason: text, Final: true})
	add(run.PhaseCompleted{Result: s.Outcome})
	add(run.RunCanceled{Reason: text})
	return out
}

// withoutCode removes code blocks and code spans as CommonMark reads them.
func withoutCode(text string) string {
	for {
		at := strings.Index(text, "`")
		if at < 0 {
			return text
		}
		n := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		rest := text[at+n:]
		end := -1
		for i := 0; i < len(rest); {
			if rest[i] != '`' {
				i++
				continue
			}
			m := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
			if m == n || n >= 3 && m >= n {
				end = i + m
				break
			}
			i += m
		}
		if end < 0 {
			return text[:at] + "UNCLOSED" + rest
		}
		text = text[:at] + rest[end:]
	}
}

// The page tells which attempt was approved, and that a part was accepted.
func TestWhatWasDecided(t *testing.T) {
	in := run.Input{
		RunID: "r1", Name: "shop#14", Goal: "mend", Repository: run.Repository{Path: "/src/shop", Base: base}, NoBaseline: true,
		Providers: run.Providers{Planner: "p", Developer: "claude", Fixer: "p"}, Checks: []string{"true"}, Policy: run.Always,
	}
	s := run.New(in)
	var out []run.Event
	add := func(p run.Payload) {
		e := s.Event(time.Unix(int64(len(out)+1), 0), p)
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	proposal := func(summary string) run.Proposal {
		return run.Proposal{Base: base, Summary: summary, Patch: run.Ref{Digest: run.DigestOf([]byte(summary))}}
	}
	add(run.RunCreated{Input: in, Format: run.Format})
	add(run.PhaseStarted{Role: run.Planner, Provider: "x"})
	add(run.PhaseCompleted{Result: run.Planned})
	add(run.PhaseStarted{Role: run.Developer, Provider: "claude"})
	small := proposal("one small fix")
	add(run.PatchProduced{Proposal: proposal("rewrite everything"), Candidate: 1, Rivals: []run.Candidate{{Number: 2, Provider: "codex", Proposal: &small, Passed: true}}})
	asked := s.NewApproval()
	add(asked)
	if len(asked.Choices) != 1 {
		t.Fatalf("choices %+v", asked.Choices)
	}
	e := s.Event(time.Unix(100, 0), run.ApprovalRejected{ApprovalID: asked.ApprovalID, By: "kim", Files: []string{"slug.go"}})
	page, err := pullrequest.Page(append(slices.Clone(out), e), nil)
	if err != nil || !strings.Contains(page, "`kim` accepted `slug.go` only") {
		t.Errorf("%v\n%s", err, page)
	}
	add(run.ApprovalGranted{ApprovalID: asked.Choices[0].ApprovalID, By: "kim"})
	add(run.PatchApplied{Patch: small.Patch.Digest, Base: base, Commit: base})
	page, err = pullrequest.Page(out, nil)
	if err != nil || !strings.Contains(page, "`one small fix` (approved by `kim`; patch `") || strings.Contains(page, "rewrite everything") {
		t.Errorf("%v\n%s", err, page)
	}
}

// Outside of code the page has words of ours alone.
func TestWhatOthersWroteIsCode(t *testing.T) {
	for _, text := range []string{hostile, "`", "``` ```", "a`b``c```d````", "x\u202ey\x1b[2J", strings.Repeat("`@kim ", 2000), " ` ", "\n\n# @kim"} {
		page, err := pullrequest.Page(events(t, text), &check.Report{Checks: []check.Result{{Command: text, Status: check.Pass}}})
		if err != nil {
			t.Fatal(err)
		}
		bare := withoutCode(page)
		for _, bad := range []string{"@", "#1", "<img", "evil", "UNCLOSED", "`"} {
			if strings.Contains(bare, bad) {
				t.Errorf("%.40q: outside of code is %q:\n%s", text, bad, bare)
			}
		}
		if strings.ContainsAny(page, "\x1b\u202e") {
			t.Errorf("%.40q: characters that a terminal obeys", text)
		}
		if !strings.Contains(page, "## Decisions") || !strings.Contains(page, "**canceled**") {
			t.Errorf("the page lacks parts:\n%s", page)
		}
	}
}
