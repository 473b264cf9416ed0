package editor

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/udifftest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/runtest"
)

// played is a client of a run in memory.
type played struct{ *runtest.Run }

func (played) Changes(context.Context, run.ID) <-chan struct{}          { return nil }
func (played) List(context.Context, runs.Filter) ([]runs.Listed, error) { return nil, nil }

// play serves a run in memory to a client that answers permission requests by answer, and returns the requests and the
// client's answer to its prompt.
func play(t *testing.T, r *runtest.Run, answer func(sdk.RequestPermissionRequest) string) (asked []sdk.RequestPermissionRequest, response sdk.PromptResponse) {
	t.Helper()
	toAgent, fromClient := io.Pipe()
	toClient, fromAgent := io.Pipe()
	c, _ := clitest.LocalFactory(t, engine.File{}, false)
	c.In, c.Out, c.Now = toAgent, fromAgent, time.Now
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = Serve(t.Context(), Config{
			Factory: c,
			Dial:    func(context.Context, func(string)) (Client, func(), error) { return played{r}, func() {}, nil },
			Start:   func(context.Context, run.ID, string, string) error { return nil },
		})
	})
	requests := make(chan sdk.RequestPermissionRequest, 8)
	client := sdk.NewConnection(func(_ context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
		if method != sdk.ClientMethodSessionRequestPermission {
			return nil, nil
		}
		var p sdk.RequestPermissionRequest
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, sdk.NewInvalidParams(nil)
		}
		requests <- p
		want := answer(p)
		i := slices.IndexFunc(p.Options, func(o sdk.PermissionOption) bool { return strings.HasPrefix(o.Name, want) })
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)}, nil
	}, fromClient, toClient)
	opened, err := sdk.SendRequest[sdk.NewSessionResponse](client, t.Context(), sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: clitest.Repository(t), McpServers: []sdk.McpServer{}})
	clitest.Must(t, err)
	response, err = sdk.SendRequest[sdk.PromptResponse](client, t.Context(), sdk.AgentMethodSessionPrompt, sdk.PromptRequest{SessionId: opened.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("g")}})
	clitest.Must(t, err)
	fromClient.Close()
	ended.Wait()
	for len(requests) > 0 {
		asked = append(asked, <-requests)
	}
	return asked, response
}

// A tool that an agent asks for is allowed, or refused, as the editor's person picks.
func TestPermissionsOfToolsPassThrough(t *testing.T) {
	for name, tc := range map[string]struct {
		pick string
		want func(run.Payload) bool
	}{
		"once":    {"Allow once", func(p run.Payload) bool { g, ok := p.(run.ApprovalGranted); return ok && !g.Session }},
		"refused": {"Refuse and end", func(p run.Payload) bool { r, ok := p.(run.ApprovalRejected); return ok && r.Final }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runtest.Play(
				runtest.Is(run.PhaseStarted{Role: run.Planner}), runtest.Is(run.PhaseCompleted{Result: run.Planned}), runtest.Is(run.PhaseStarted{Role: run.Developer}),
				func(s *run.Snapshot) run.Payload {
					return s.NewPermission(run.Permission{CallID: "1", Tool: "Bash", Title: "go vet", Excerpt: `{"command":"go vet"}`})
				},
				func(s *run.Snapshot) run.Payload { return run.RunCanceled{Reason: "over"} })
			asked, response := play(t, r, func(sdk.RequestPermissionRequest) string { return tc.pick })
			if len(asked) != 1 || *asked[0].ToolCall.Title != "Bash: go vet" || *asked[0].ToolCall.Kind != sdk.ToolKindExecute || len(asked[0].Options) != 4 ||
				!strings.Contains(asked[0].ToolCall.Content[0].Content.Content.Text.Text, "go vet") {
				t.Fatalf("got the requests %+v, want one for go vet", asked)
			}
			if response.StopReason != sdk.StopReasonEndTurn {
				t.Errorf("got %s, want end_turn", response.StopReason)
			}
			if !slices.ContainsFunc(r.Emitted, func(e run.Event) bool { return tc.want(e.Payload) }) {
				t.Errorf("%s: the decision is not among %+v", tc.pick, r.Emitted)
			}
		})
	}
}

// A request that is decided elsewhere is withdrawn, and the turn continues.
func TestDecidedElsewhere(t *testing.T) {
	r := runtest.Play(
		runtest.Is(run.PhaseStarted{Role: run.Planner}), runtest.Is(run.PhaseCompleted{Result: run.Planned}), runtest.Is(run.PhaseStarted{Role: run.Developer}),
		runtest.Is(run.PatchProduced{Proposal: run.Proposal{Base: "b", Summary: "s"}}), func(s *run.Snapshot) run.Payload { return s.NewApproval() },
		runtest.Is(run.PhaseCompleted{Result: run.Rejected}), runtest.Is(run.RunCanceled{Reason: "no"}))
	r.Elsewhere, r.Unpolled = &run.Decision{Decision: run.Reject, Final: true}, 1
	wait := make(chan struct{})
	t.Cleanup(func() { close(wait) })
	asked, response := play(t, r, func(sdk.RequestPermissionRequest) string { <-wait; return "Apply" })
	if len(asked) != 1 || response.StopReason != sdk.StopReasonEndTurn {
		t.Errorf("got %d requests and %s, want one and end_turn", len(asked), response.StopReason)
	}
}

// The diff of an editor has the lines of the patch, and shows what deceives.
func TestTheDiffIsThePatch(t *testing.T) {
	files, err := hunks.Read([]byte(udifftest.Patch("a.go", "one\ntwo\n", "one\nTWO \u202e\n") + udifftest.Patch("new.txt", "", "x") + udifftest.Patch("gone.txt", "y\n", "")))
	clitest.Must(t, err)
	var got []string
	for _, f := range files {
		for _, c := range drawFile("/r/"+f.Name, f) {
			switch {
			case c.Content != nil:
				got = append(got, c.Content.Content.Text.Text)
			case c.Diff.OldText == nil:
				got = append(got, c.Diff.Path+": new "+c.Diff.NewText)
			default:
				got = append(got, c.Diff.Path+": "+*c.Diff.OldText+"→"+c.Diff.NewText)
			}
		}
	}
	want := []string{"/r/a.go: one\ntwo\n→one\nTWO <U+202E>\n", "/r/new.txt: new x", "gone.txt: removed", "/r/gone.txt: y\n→"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStepsOfAPlan(t *testing.T) {
	for plan, want := range map[string][]string{
		"# Goal\n\n1. Read\n2) Write\n   - below\n- [x] Test\n": {"Read", "Write", "Test"},
		"# Make it good\n": {"Make it good"},
		"":                 nil,
		"\n- a\x1b[2J\n":   {"a<U+001B>[2J"},
	} {
		if got := stepsOf(plan); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", plan, got, want)
		}
	}
}

func TestWhatAModelHasWrittenSince(t *testing.T) {
	for _, tc := range []struct {
		tail string
		new  int64
		want string
	}{
		{"abc", 0, ""}, {"abc", 2, "bc"}, {"abc", 3, "abc"}, {"abc", 9, "… abc"}, {"aä", 1, ""}, {"abc", -5, ""},
	} {
		if got := newText(tc.tail, tc.new); got != tc.want {
			t.Errorf("%q, %d bytes: got %q, want %q", tc.tail, tc.new, got, tc.want)
		}
	}
}

func TestTextOfAPrompt(t *testing.T) {
	got, err := textOf([]sdk.ContentBlock{
		sdk.TextBlock("Fix "), sdk.ResourceLinkBlock("a.go", "file:///r/a.go"), sdk.TextBlock(" as in "),
		sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Uri: "file:///r/b.go", Text: "package b"}}),
	})
	if want := "Fix /r/a.go as in /r/b.go\n\n/r/b.go:\n\npackage b"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// A line of any length leaves the messages after it readable.
func TestALineThatIsTooLong(t *testing.T) {
	var out strings.Builder
	m := newMessages(strings.NewReader(strings.Repeat("x", maxMessage+5)+"\n{\"method\":\"x\"}"), &out)
	got, err := io.ReadAll(m)
	if err != nil || string(got) != "{\"method\":\"x\"}\n" || !strings.Contains(out.String(), "longer than") {
		t.Errorf("got %q, %v, answered %q; want the message after it, and an error for the line", got, err, out.String())
	}
}
