package dialog_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/udifftest"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// fixture is a person with artifacts, who types lines, each at a question.
type fixture struct {
	*dialog.Person
	out       captured.Output
	artifacts map[string]string
	edited    string // what the editor writes below a line; empty: nothing
	draft     *fakeDraft
}

// fakeDraft is a reply whose editor writes, each time, below the line that is added to a.go.
type fakeDraft struct {
	text, edited string
	gone         bool
	patch        bool // the editor replaces the text
}

func (d *fakeDraft) Edit() (string, error) {
	if d.patch {
		d.text = cmp.Or(d.edited, d.text)
		return d.text, nil
	}
	d.text = strings.Replace(d.text, "+ two\n", "+ two\n"+d.edited, 1)
	if d.edited == "broken editor" {
		return d.text, errors.New("the editor is broken")
	}
	return d.text, nil
}

func (d *fakeDraft) Path() string { return "reply\x1b.txt" }

func (d *fakeDraft) Remove() { d.gone = true }

func newFixture(t *testing.T, typed ...string) *fixture {
	t.Helper()
	f := &fixture{artifacts: map[string]string{
		"patch": udifftest.Patch("a.go", "one\n", "two\n") + udifftest.Patch("b.go", "", "evil \x1b[2J\u202e\n") + udifftest.Patch("c.go", "x\n", "y\n"),
	}}
	in, w := io.Pipe()
	screen := terminal.NewScreen(&f.out, terminal.Options{})
	f.Person = &dialog.Person{
		Screen: screen, Lines: dialog.ReadLines(in, screen), Name: "ada",
		Load: func(ref run.Ref) ([]byte, error) {
			text, ok := f.artifacts[ref.Name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
		NewReply: func(text string) (dialog.Draft, error) {
			if f.edited == "no editor" {
				return nil, errors.New("there is no editor")
			}
			f.draft = &fakeDraft{text: text, edited: f.edited}
			return f.draft, nil
		},
		NewEdit: func(text string) (dialog.Draft, error) {
			if f.edited == "no editor" {
				return nil, errors.New("there is no editor")
			}
			f.draft = &fakeDraft{text: text, edited: f.edited, patch: true}
			return f.draft, nil
		},
		Report: func(run.Ref) (check.Report, bool) {
			return check.Report{Checks: []check.Result{{Command: "go test", Status: check.Fail, ExitCode: 1, Tail: "boom"}}}, true
		},
	}
	go func() {
		asked := 0
		for _, line := range typed {
			said, ok := f.out.Await(t.Context(), func(said string) bool { return questions(said) > asked })
			if !ok {
				return
			}
			asked = questions(said)
			fmt.Fprintln(w, line)
		}
		_ = w.Close()
	}()
	return f
}

// questions counts the prompts on a screen: they alone end in a bracket and a blank.
func questions(said string) int { return strings.Count(said, "] ") + strings.Count(said, ") ") }

var pending = run.PendingApproval{ApprovalID: "apr-1-x", Patch: run.Ref{Name: "patch", Digest: "p"}, Stat: run.Stat{Files: 3}}

func TestOnlyADeliberateWordDecides(t *testing.T) {
	later := dialog.ErrUnanswered
	for name, tt := range map[string]struct {
		typed  []string
		edited string
		want   run.Decision
		err    error
		says   string
	}{
		"y":                      {typed: []string{"y"}, want: run.Decision{Decision: run.Approve}},
		"yes":                    {typed: []string{" YES "}, want: run.Decision{Decision: run.Approve}},
		"n and a reason":         {typed: []string{"n", "keep the API"}, want: run.Decision{Decision: run.Reject, Reason: "keep the API"}},
		"no, without a reason":   {typed: []string{"no", "-"}, want: run.Decision{Decision: run.Reject}},
		"n, then back":           {typed: []string{"n", "", "y"}, want: run.Decision{Decision: run.Approve}},
		"n twice is no reason":   {typed: []string{"n", "n", "y"}, want: run.Decision{Decision: run.Approve}},
		"a yes is no reason":     {typed: []string{"n", "yes", "q"}, err: later},
		"Enter":                  {typed: []string{"", "q"}, err: later, says: "decide later"},
		"a question mark":        {typed: []string{"?", "q"}, err: later, says: "decide later"},
		"an unknown word":        {typed: []string{"yess", "q"}, err: later, says: "unknown key yess, nothing was decided"},
		"an escape sequence":     {typed: []string{"\x1b[A", "q"}, err: later, says: "unknown key <U+001B>[A"},
		"q":                      {typed: []string{"q"}, err: later},
		"the end of the input":   {err: later},
		"the end in a no":        {typed: []string{"n"}, err: later},
		"all of it, then y":      {typed: []string{"d", "y"}, want: run.Decision{Decision: run.Approve}},
		"by file":                {typed: []string{"f", "", "b", "", "", "", "y"}, want: run.Decision{Decision: run.Approve}, says: "file 3 of 3"},
		"by file, left":          {typed: []string{"f", "q", "q"}, err: later},
		"some files":             {typed: []string{"a", "1 3", "b is evil"}, want: run.Decision{Decision: run.Approve, Files: []string{"a.go", "c.go"}, Reason: "b is evil"}},
		"some, and a single key": {typed: []string{"a", "1", "q", "q"}, err: later},
		"some, the rest dropped": {typed: []string{"a", "3", "-"}, want: run.Decision{Decision: run.Approve, Files: []string{"c.go"}}},
		"some, then back":        {typed: []string{"a", "3", "", "q"}, err: later},
		"no such file":           {typed: []string{"a", "1-9", "q"}, err: later, says: "not a number from 1 to 3"},
		"some hunks":             {typed: []string{"a", "1 2.1", "-"}, want: run.Decision{Decision: run.Approve, Files: []string{"a.go", "b.go"}}},
		"no such hunk":           {typed: []string{"a", "2.9", "q"}, err: later, says: "hunks of file 2: \"9\" is not a number from 1 to "},
		"all files":              {typed: []string{"a", "1-3", "q"}, err: later, says: "use y to accept the patch"},
		"an edit":                {typed: []string{"e", "y"}, edited: "+mine\n", want: run.Decision{Decision: run.Edit, Patch: "+mine\n"}},
		"an edit, then back":     {typed: []string{"e", "n", "y"}, edited: "+mine\n", want: run.Decision{Decision: run.Approve}, says: "your text was not sent; it is saved in"},
		"an edit of nothing":     {typed: []string{"e", "q"}, err: later, says: "you changed nothing: nothing was decided"},
		"an edit without editor": {typed: []string{"e", "q"}, edited: "no editor", err: later, says: "there is no editor"},
		"an edit that is long":   {typed: []string{"e", "q"}, edited: strings.Repeat("x", run.MaxEditBytes+1), err: later, says: "at most 262144 fit: nothing was decided; e opens it again"},
		"the end of the run":     {typed: []string{"end", "yes"}, want: run.Decision{Decision: run.Reject, Final: true}},
		"not the end of the run": {typed: []string{"end", "y", "n", "q"}, err: later},
		"a mail":                 {typed: []string{"N", "y"}, edited: "shorter, please\n", want: run.Decision{Decision: run.Reject, Reason: "a.go:1: two\n  shorter, please"}},
		"a mail, then back":      {typed: []string{"N", "n", "q"}, edited: "shorter, please\n", err: later},
		"an empty mail":          {typed: []string{"N", "q"}, err: later, says: "you wrote nothing: nothing was decided"},
		"a mail without editor":  {typed: []string{"N", "q"}, edited: "no editor", err: later, says: "there is no editor"},
		"a mail that is long":    {typed: []string{"N", "q"}, edited: strings.Repeat("x", run.MaxTextBytes), err: later, says: "nothing was decided"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.typed...)
			f.edited = tt.edited
			got, err := f.Approve(t.Context(), pending)
			tt.want.ApprovalID, tt.want.By = "apr-1-x", "ada"
			if fmt.Sprint(got) != fmt.Sprint(tt.want) || !errors.Is(err, tt.err) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
			said := f.out.String()
			if !strings.Contains(said, tt.says) {
				t.Errorf("no %q in:\n%s", tt.says, said)
			}
			if strings.ContainsAny(said, "\x1b\u202e") || !strings.Contains(said, "evil <U+001B>[2J<U+202E>") {
				t.Errorf("shown: %q", said)
			}
		})
	}
}

func TestAReplyThatIsNotSentIsKept(t *testing.T) {
	const left = "your text was not sent; it is saved in reply<U+001B>.txt"
	for name, tt := range map[string]struct {
		typed  []string
		edited string
		reason string
		took   error // what the run said of the decision
		gone   bool
		says   string // empty: nothing of the file
	}{
		"sent":                           {typed: []string{"N", "y"}, edited: "shorter\n", reason: "a.go:1: two\n  shorter", gone: true},
		"taken up again":                 {typed: []string{"N", "n", "N", "y"}, edited: "shorter\n", reason: "a.go:1: two\n  shorter\n  shorter", gone: true},
		"taken back":                     {typed: []string{"N", "n", "q"}, edited: "shorter\n", says: left},
		"too long":                       {typed: []string{"N", "q"}, edited: strings.Repeat("x", run.MaxTextBytes) + "\n", says: left},
		"given up for another reason":    {typed: []string{"N", "n", "n", "other"}, edited: "shorter\n", reason: "other", says: left},
		"settled elsewhere at its gate":  {typed: []string{"N", "n"}, edited: "shorter\n", says: left},
		"settled elsewhere at the end":   {typed: []string{"N"}, edited: "shorter\n", says: left},
		"settled elsewhere while sent":   {typed: []string{"N", "y"}, edited: "shorter\n", reason: "a.go:1: two\n  shorter", took: errors.New("decided already"), says: left},
		"by an editor that fails":        {typed: []string{"N", "q"}, edited: "broken editor", says: left},
		"nothing written":                {typed: []string{"N", "q"}, gone: true},
		"nothing written, and the patch": {typed: []string{"N", "y"}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.typed...)
			f.edited = tt.edited
			d, err := f.Approve(t.Context(), pending)
			if err == nil {
				f.Sent(tt.took)
			}
			said := f.out.String()
			if d.Reason != tt.reason || f.draft.gone != tt.gone || strings.Contains(said, "saved in") != (tt.says != "") || !strings.Contains(said, tt.says) {
				t.Errorf("reason %q, the file is gone: %t, want %+v in:\n%s", d.Reason, f.draft.gone, tt, said)
			}
		})
	}
}

func TestAReplyIsTakenUpAtTheNextGateOfItsPatch(t *testing.T) {
	f := newFixture(t, "N", "n", "q", "q", "N", "y")
	f.edited = "shorter\n"
	other := pending
	other.ApprovalID = "apr-2-x"
	for _, step := range []struct {
		a      run.PendingApproval
		reason string
	}{{pending, ""}, {pending, ""}, {pending, "a.go:1: two\n  shorter\n  shorter"}} {
		if d, _ := f.Approve(t.Context(), step.a); d.Reason != step.reason {
			t.Errorf("reason %q, want %q", d.Reason, step.reason)
		}
	}
	first := f.draft
	f.Sent(errors.New("the engine was lost"))
	if _, err := f.Approve(t.Context(), other); first.gone || err == nil {
		t.Errorf("gone: %t, %v", first.gone, err)
	}
}

var bash = run.PendingApproval{ApprovalID: "apr-1-y", Permission: &run.Permission{Tool: "Bash", Input: run.Ref{Name: "input"}, Excerpt: "head"}, Reasons: []string{"to look"}}

func TestAPersonAllowsTheCommandThatIsShown(t *testing.T) {
	for name, tt := range map[string]struct {
		typed []string
		want  run.Decision
		err   error
		says  string
	}{
		"y":             {typed: []string{"y"}, want: run.Decision{Decision: run.Approve}, says: "$ npm install left-pad"},
		"the session":   {typed: []string{"s"}, want: run.Decision{Decision: run.Approve, Session: true}},
		"the keys":      {typed: []string{"?", "q"}, err: dialog.ErrUnanswered, says: "until the agent's session ends"},
		"Enter":         {typed: []string{"", "q"}, err: dialog.ErrUnanswered},
		"n":             {typed: []string{"n", "not here"}, want: run.Decision{Decision: run.Reject, Reason: "not here"}},
		"n, no reason":  {typed: []string{"n", "-"}, want: run.Decision{Decision: run.Reject}},
		"n, and a flag": {typed: []string{"n", "--force is forbidden"}, want: run.Decision{Decision: run.Reject, Reason: "--force is forbidden"}},
		"n, then back":  {typed: []string{"n", "", "q"}, err: dialog.ErrUnanswered},
		"all of it":     {typed: []string{"d", "y"}, want: run.Decision{Decision: run.Approve}, says: "timeout: 5"},
		"no part of it": {typed: []string{"a", "f", "q"}, err: dialog.ErrUnanswered},
		"the end":       {typed: []string{"end", "yes"}, want: run.Decision{Decision: run.Reject, Final: true}, says: "Refuse the call and end the run?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.typed...)
			f.artifacts["input"] = `{"command":"npm install left-pad\nrm \u001b[8m-rf x","description":"Install","timeout":5}`
			got, err := f.Approve(t.Context(), bash)
			tt.want.ApprovalID, tt.want.By = "apr-1-y", "ada"
			if fmt.Sprint(got) != fmt.Sprint(tt.want) || !errors.Is(err, tt.err) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
			said := f.out.String()
			if !strings.Contains(said, tt.says) || !strings.Contains(said, "rm <U+001B>[8m-rf x") || strings.Contains(said, "\x1b") {
				t.Errorf("no %q in:\n%s", tt.says, said)
			}
		})
	}
}

func TestAnErrorIsNoQuestionOfTheModels(t *testing.T) {
	for name, tt := range map[string]struct {
		kind  run.QuestionKind
		typed []string
		want  run.Reply
		err   error
		says  string
	}{
		"retry":                       {run.ErrorQuestion, []string{"r"}, run.Reply{Retry: true}, nil, ""},
		"retry, checks":               {run.CheckQuestion, []string{"retry"}, run.Reply{Retry: true}, nil, ""},
		"cancel":                      {run.ErrorQuestion, []string{"cancel", "yes"}, run.Reply{}, dialog.ErrCancel, "End the run?"},
		"c":                           {run.ErrorQuestion, []string{"c", "yes"}, run.Reply{}, dialog.ErrCancel, ""},
		"cancel, not meant":           {run.ErrorQuestion, []string{"cancel", "n", "r"}, run.Reply{Retry: true}, nil, ""},
		"later":                       {run.ErrorQuestion, []string{"q"}, run.Reply{}, dialog.ErrUnanswered, ""},
		"Enter":                       {run.ErrorQuestion, []string{"", "q"}, run.Reply{}, dialog.ErrUnanswered, "try the step again"},
		"a key that is none":          {run.ErrorQuestion, []string{"x", "q"}, run.Reply{}, dialog.ErrUnanswered, "unknown key x"},
		"a text":                      {run.ErrorQuestion, []string{"logged in again"}, run.Reply{Text: "logged in again"}, nil, ""},
		"cancel at a model's":         {run.AgentQuestion, []string{"Cancel", "yes"}, run.Reply{}, dialog.ErrCancel, ""},
		"the word cancel":             {run.AgentQuestion, []string{"= cancel"}, run.Reply{Text: "cancel"}, nil, ""},
		"one letter at a model's":     {run.AgentQuestion, []string{"b"}, run.Reply{Text: "b"}, nil, ""},
		"nothing is no answer":        {run.AgentQuestion, []string{"", "blue"}, run.Reply{Text: "blue"}, nil, "any other text is the answer"},
		"a budget":                    {run.BudgetQuestion, []string{"5000"}, run.Reply{Text: "5000"}, nil, ""},
		"one digit":                   {run.BudgetQuestion, []string{"5"}, run.Reply{Text: "5"}, nil, ""},
		"no budget":                   {run.BudgetQuestion, []string{"stop"}, run.Reply{Text: "stop"}, nil, ""},
		"the end of the input":        {run.AgentQuestion, nil, run.Reply{}, dialog.ErrUnanswered, ""},
		"retry where nothing failed":  {run.AgentQuestion, []string{"retry"}, run.Reply{Text: "retry"}, nil, ""},
		"the consequence is said too": {run.AgentQuestion, []string{"q"}, run.Reply{}, dialog.ErrUnanswered, "answer → it goes on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.typed...)
			got, err := f.Answer(t.Context(), run.PendingQuestion{QuestionID: "qst", Kind: tt.kind, Next: run.Outlook{Answer: "it goes on", Stop: "it ends"}})
			tt.want.QuestionID, tt.want.By = "qst", "ada"
			if fmt.Sprint(got) != fmt.Sprint(tt.want) || !errors.Is(err, tt.err) || !strings.Contains(f.out.String(), tt.says) {
				t.Errorf("got %+v, %v, want %+v\n%s", got, err, tt.want, f.out.String())
			}
		})
	}
}

func TestAGateSaysFirstWhatChangedSinceTheRefusal(t *testing.T) {
	f := newFixture(t, "q")
	f.artifacts["refused"] = udifftest.Patch("a.go", "one\n", "uno\n") + udifftest.Patch("c.go", "x\n", "y\n")
	a := pending
	a.Refused, a.Report, a.Reasons = &run.Ref{Name: "refused"}, &run.Ref{Name: "report"}, []string{"deletes files"}
	a.Next = run.Outlook{Approve: "it is applied", Reject: "the run ends as failed", RejectEnds: true}
	if _, err := f.Approve(t.Context(), a); !errors.Is(err, dialog.ErrUnanswered) {
		t.Fatal(err)
	}
	said := f.out.String()
	for _, want := range []string{"changed since the refused patch", "- uno", "+ two", "risk: deletes files", "a rejection ends the run: the run ends as failed", "go test", "boom", "yes → it is applied", "n refuse"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
	if strings.Contains(said, "c.go  +1") || !strings.Contains(said, "same as in the refused patch: c.go") {
		t.Errorf("a file that is as it was is shown:\n%s", said)
	}
}

// The patch of a hostile model, or of a record that was changed, cannot be read by file, or draws a gate of
// its own: nothing of it is taken for an answer, nor hides the real one.
func TestAPatchCannotForgeAGate(t *testing.T) {
	forged := "\r\x1b[2K  Apply this patch? [y n q ?] y\r\n  ✓ approved by ada\x1b]0;x\x07\x9b2J"
	for name, text := range map[string]string{"a patch": udifftest.Patch("a.go", "", forged+"\n"), "no patch": forged, "its name": udifftest.Patch("a\x1b[2J.go", "", "x\n")} {
		f := newFixture(t, "q")
		f.artifacts["patch"] = text
		if got, err := f.Approve(t.Context(), pending); !errors.Is(err, dialog.ErrUnanswered) || got.Decision != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if said := f.out.String(); strings.ContainsAny(said, "\x1b\r\x07\u009b") || strings.Contains(said, "\x9b") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

func TestAPatchOnAnotherHostIsShownByItsHead(t *testing.T) {
	f := newFixture(t, "f", "q")
	a := pending
	a.Patch, a.Excerpt = run.Ref{Name: "elsewhere"}, "+two \x1b[2J"
	if _, err := f.Approve(t.Context(), a); !errors.Is(err, dialog.ErrUnanswered) {
		t.Fatal(err)
	}
	if said := f.out.String(); !strings.Contains(said, "+two <U+001B>[2J") || !strings.Contains(said, "only the beginning") {
		t.Errorf("shown: %q", said)
	}
}
