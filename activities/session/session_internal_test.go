package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/conduct"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// newProcess returns an agent process without an agent, whose session has a directory of its own.
func newProcess(t *testing.T) *agentProcess {
	t.Helper()
	runs, err := rundir.Open(t.Context(), filepath.Join(t.TempDir(), "runs"))
	if err != nil {
		t.Fatal(err)
	}
	slot := runs.Session("s1")
	release, err := slot.Hold(t.Context(), func() {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return &agentProcess{id: "s1", epoch: 1, slot: slot, leave: make(chan string, 1)}
}

// TestADamagedNoteStartsNoAgent has the note cut off by a full disk: with an empty one, the last message would be said
// again.
func TestADamagedNoteStartsNoAgent(t *testing.T) {
	s := newProcess(t)
	last := session.Handed{ID: "m1", Stage: session.Begun}
	if err := (note{Agent: "a1", Last: &last}).keepIn(s.slot); err != nil {
		t.Fatal(err)
	}
	if n, err := loadNote(s.slot); err != nil || n.Agent != "a1" || *n.Last != last {
		t.Errorf("%+v, %v", n, err)
	}
	name := filepath.Join(s.slot.Path(), "note.json")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(whole[:len(whole)/2]), `{"last":{"id":"m1","stage":"perhaps"}}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := loadNote(s.slot); err == nil {
			t.Errorf("%q is read as %+v", text, n)
		}
	}
}

// A process that is asked to end before its agent runs still reports the note: the turn in it may be given up.
func TestAProcessThatEndsBeforeItsAgentStartsReportsTheNote(t *testing.T) {
	s := newProcess(t)
	s.note.Last = &session.Handed{ID: "m1", Stage: session.Heard}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res, err := s.unstartedResult(ctx, session.Unstarted, ""); err != nil || res.End != session.Ended || res.Found != s.note.Last {
		t.Errorf("%+v, %v", res, err)
	}
}

// accounting is an agent whose client keeps an account of its processes.
type accounting struct {
	agent.Adapter
	running bool
	err     error
}

func (a accounting) Running(string) (bool, error) { return a.running, a.err }

func TestAnAgentIsResumedOnlyWhereNoneOfItRuns(t *testing.T) {
	doubt := errors.New("its list is damaged")
	for _, tt := range []struct {
		name    string
		adapter agent.Adapter
		note    note
		refused bool
	}{
		{"a client without an account", struct{ agent.Adapter }{}, note{Agent: "a1"}, false},
		{"a client that keeps none here", accounting{err: agent.ErrNoList}, note{Agent: "a1"}, false},
		{"it runs nowhere", accounting{}, note{Agent: "a1"}, false},
		{"it runs in another process", accounting{running: true}, note{Agent: "a1"}, true},
		{"it runs in another process after a kill of ours", accounting{running: true, err: doubt}, note{Agent: "a1", Epoch: 1}, true},
		{"a doubt after an orderly end", accounting{err: doubt}, note{Agent: "a1", Epoch: 1, Orderly: true}, true},
		{"a doubt that a kill of ours explains", accounting{err: doubt}, note{Agent: "a1", Epoch: 1}, false},
		{"there is no session of it yet", accounting{running: true}, note{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newProcess(t)
			s.note = tt.note
			if err := s.checkNotRunning(tt.adapter); (err != nil) != tt.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestAHandoverIsNotedBeforeItIsGiven has a message handed over in each state of the process.
func TestAHandoverIsNotedBeforeItIsGiven(t *testing.T) {
	lost := errors.New("the pipe broke")
	for _, tt := range []struct {
		name   string
		before func(*agentProcess)
		give   error
		given  bool // the agent was called
		done   bool
		failed bool          // it is not known whether the agent has it
		stage  session.Stage // in the note afterwards; empty: the note has nothing of it
	}{
		{name: "taken", given: true, done: true, stage: session.Begun},
		{name: "a busy agent", give: agent.ErrBusy, given: true},
		{name: "an agent that is gone", give: agent.ErrGone, given: true},
		{name: "an error that leaves it open", give: lost, given: true, failed: true, stage: session.Begun},
		{name: "while a turn is in progress", before: func(s *agentProcess) { s.turn = &turn{} }},
		{name: "after the end of the process", before: func(s *agentProcess) { s.over = true }},
		{name: "before the start of the process", before: func(s *agentProcess) { s.Session = nil }},
		{name: "a second time", before: func(s *agentProcess) { s.note.Last = &session.Handed{ID: "m1", Stage: session.Heard} }, done: true, stage: session.Heard},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newProcess(t)
			s.Session = struct{ agent.Session }{}
			if tt.before != nil {
				tt.before(s)
			}
			if err := s.note.keepIn(s.slot); err != nil {
				t.Fatal(err)
			}
			given := false
			res, err := s.handOver(Handover{Session: "s1", Epoch: 1, ID: "m1", Text: "do"}, false, func() error {
				given = true
				if n, err := loadNote(s.slot); err != nil || n.Last == nil || n.Last.ID != "m1" || n.Last.Stage != session.Begun {
					t.Errorf("given with the note %+v, %v", n.Last, err)
				}
				return tt.give
			})
			if given != tt.given || res.Done != tt.done || (err != nil) != tt.failed || !res.Done && err == nil && res.Reason == "" {
				t.Errorf("given %t, %+v, %v", given, res, err)
			}
			n, err := loadNote(s.slot)
			var stage session.Stage
			if n.Last != nil {
				stage = n.Last.Stage
			}
			if err != nil || stage != tt.stage {
				t.Errorf("the note says %q, %v; want %q", stage, err, tt.stage)
			}
		})
	}
}

func TestWhoMakesRoom(t *testing.T) {
	past := time.Now().Add(-time.Hour)
	a := &Activities{Config: Config{Idle: time.Hour, Quiet: time.Hour}, living: map[session.ID]*agentProcess{}}
	add := func(id session.ID, last time.Time, busy bool) *agentProcess {
		s := newProcess(t)
		s.a, s.id, s.last = a, id, last
		if busy {
			s.turn = &turn{}
		}
		a.living[id] = s
		return s
	}
	add("working", past.Add(-time.Hour), true)
	add("starting", time.Time{}, false)
	add("fresh", time.Now().Add(time.Hour), false)
	if s := a.longestIdle(); s != nil {
		t.Errorf("%s makes room", s.id)
	}
	late := add("late", past.Add(time.Minute), false)
	first := add("first", past, false)
	if s := a.longestIdle(); s != first {
		t.Errorf("%v makes room", s)
	}
	late.leaving = true
	if s := a.longestIdle(); s != nil {
		t.Errorf("%s makes room although room is being made", s.id)
	}
}

func TestATurnThatNoPersonHoldsUpIsNotCutOff(t *testing.T) {
	a := &Activities{living: map[session.ID]*agentProcess{}}
	for name, tt := range map[string]struct {
		turn   *turn
		leaves bool
	}{
		"without a turn":       {nil, true},
		"at work":              {&turn{}, false},
		"waiting for a person": {&turn{asks: []agent.Permission{{CallID: "c1"}}}, true},
	} {
		s := newProcess(t)
		s.a, s.turn = a, tt.turn
		a.living["s1"] = s
		leaves := a.mayLeave(s)
		if _, err := a.findProcess("s1", 1); leaves != tt.leaves || (err != nil) != leaves {
			t.Errorf("%s: leaves %t, takes input: %v", name, leaves, err)
		}
	}
	if _, err := a.findProcess("s1", 2); err == nil {
		t.Error("another process is found")
	}
}

func TestADecisionFitsOneCallAlone(t *testing.T) {
	asked := agent.Permission{CallID: "c1", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)}
	changed := asked
	changed.Input = json.RawMessage(`{"command":"make install"}`)
	for name, tt := range map[string]struct {
		permit run.Permit
		taken  bool
	}{
		"the call":                    {run.Permit{CallID: "c1", Digest: conduct.DigestOf(asked)}, true},
		"another call":                {run.Permit{CallID: "c2", Digest: conduct.DigestOf(asked)}, false},
		"the call with another input": {run.Permit{CallID: "c1", Digest: conduct.DigestOf(changed)}, false},
	} {
		s := newProcess(t)
		if _, ok := s.takeAsk(tt.permit); ok {
			t.Errorf("%s: taken without a turn", name)
		}
		s.turn = &turn{asks: []agent.Permission{asked}}
		if _, ok := s.takeAsk(tt.permit); ok != tt.taken || len(s.turn.asks) == 0 != tt.taken {
			t.Errorf("%s: taken %t, %d wait", name, ok, len(s.turn.asks))
		}
	}
}

func TestATranscriptIsBoundedAndHoldsNoSecret(t *testing.T) {
	const secret = "s3cret-of-the-worker"
	secrets := redact.New([]string{"MODEL_KEY=" + secret})
	var kept transcript
	kept.addEvent(secrets, agent.Text{Text: "the key is " + secret[:8]}) // split over two pieces
	kept.addEvent(secrets, agent.Text{Text: secret[8:] + "\nand more"})
	kept.addEvent(secrets, agent.ToolUse{CallID: "c1", Tool: "Bash", Input: json.RawMessage(`{"command":"echo ` + secret + `"}`)})
	kept.addEvent(secrets, agent.ToolUse{CallID: "c2", Tool: "Write", Input: json.RawMessage(`"` + strings.Repeat("x", 2*maxToolText) + `"`)})
	kept.addEvent(secrets, agent.ToolResult{CallID: "c1", Output: strings.Repeat(secret, 10_000)})
	kept.addEvent(secrets, agent.UsageUpdate{})
	kept.addEvent(secrets, agent.Turn{Status: agent.Completed})
	lines := strings.Split(strings.TrimSpace(string(kept.bytes())), "\n")
	if len(lines) != 5 || strings.Contains(string(kept.bytes()), secret) {
		t.Errorf("%d lines: %.500s", len(lines), kept.bytes())
	}
	for _, text := range lines {
		if l := (line{}); json.Unmarshal([]byte(text), &l) != nil || l.At.IsZero() || len(text) > 2*maxToolText {
			t.Errorf("%d bytes: %.200s", len(text), text)
		}
	}
	for range 300 {
		kept.addEvent(secrets, agent.ToolResult{CallID: "c3", Output: strings.Repeat("y", maxToolText)})
	}
	if n := len(kept.bytes()); n > maxTranscript+1000 || !strings.HasSuffix(string(kept.bytes()), "\"the transcript is cut here\"}\n") {
		t.Errorf("%d bytes, ending with %s", n, kept.bytes()[n-100:])
	}
}

// keeper is a client that resumes its session by the model that it had last, unless another is chosen.
type keeper struct {
	agent.Session
	model string
}

func (*keeper) ID() string      { return "a1" }
func (k *keeper) Model() string { return k.model }

// TestAModelForOneMessageIsNotKept starts a session's agent again and again by the choices of its messages.
func TestAModelForOneMessageIsNotKept(t *testing.T) {
	s := newProcess(t)
	client := &keeper{model: "own"}
	for i, want := range []string{"own", "own", "other", "own", "own"} {
		s.in.Choice = agent.Choice{Mode: "plan"}
		if want == "other" {
			s.in.Choice.Model = want
		}
		s.noteStarting()
		choice := s.startChoice()
		if choice.Model != "" {
			client.model = choice.Model
		}
		s.Session = client
		s.noteStarted()
		if client.model != want || choice.Mode != "plan" {
			t.Errorf("start %d has the model %s, want %s, by the choice %+v", i, client.model, want, choice)
		}
	}
}

// habitual is a client that resumes its session by the model and the mode that it had last, and tells at each start
// which these are.
type habitual struct {
	agent.Session
	last agent.Choice
}

func (*habitual) ID() string              { return "a1" }
func (h *habitual) Default() agent.Choice { return h.last }

// TestAChoiceForOneMessageIsNotKept starts a session's agent again and again by the choices of its messages, of which the
// first has one already.
func TestAChoiceForOneMessageIsNotKept(t *testing.T) {
	own := agent.Choice{Model: "own", Mode: "build"}
	s := newProcess(t)
	last := own
	for i, tt := range []struct{ choice, want agent.Choice }{
		{agent.Choice{Mode: "plan"}, agent.Choice{Model: "own", Mode: "plan"}},
		{agent.Choice{}, own},
		{agent.Choice{Model: "other", Mode: "plan"}, agent.Choice{Model: "other", Mode: "plan"}},
		{agent.Choice{}, own},
	} {
		s.in.Choice = tt.choice
		s.noteStarting()
		choice := s.startChoice()
		s.Session = &habitual{last: last}
		if changed := s.noteStarted(); changed != (i == 0) {
			t.Errorf("start %d changes the note: %t", i, changed)
		}
		if last = choice.Over(last); last != tt.want {
			t.Errorf("start %d goes on by %+v, want %+v", i, last, tt.want)
		}
	}
}

// newTurn returns a process whose agent has a turn, by a policy for tool calls.
func newTurn(t *testing.T, tools run.Tools) *agentProcess {
	t.Helper()
	s := newProcess(t)
	s.a, s.in.Session.Tools = &Activities{Config: Config{Redact: redact.New(nil)}}, tools
	s.turn = &turn{Handover: Handover{ID: "m1"}, tools: map[string]bool{}}
	return s
}

// The workflow knows a call by the id in the report that asks about it, however long the agent's own id is.
func TestAWithdrawalNamesTheCallThatWasAskedAbout(t *testing.T) {
	for _, id := range []string{"c1", strings.Repeat("c", 2*report.MaxSummary)} {
		s := newTurn(t, run.AskTools)
		asked, res := s.takeEvent(t.Context(), agent.Permission{CallID: id, Tool: "Bash"})
		if res != nil || len(asked) != 1 || asked[0].Asked == nil {
			t.Fatalf("%+v, %+v", asked, res)
		}
		gone, _ := s.takeEvent(t.Context(), agent.Withdrawn{CallID: id})
		if len(gone) != 1 || gone[0].Withdrawn == nil || gone[0].Withdrawn.CallID != asked[0].Asked.CallID || len(s.turn.asks) != 0 {
			t.Errorf("an id of %d bytes: %+v withdraws %s; %d wait", len(id), gone, asked[0].Asked.CallID, len(s.turn.asks))
		}
	}
}

// choosy is an agent that can be told only some verdicts.
type choosy struct {
	agent.Session
	refuse map[agent.PermissionVerdict]error
	told   []agent.PermissionDecision
}

func (c *choosy) Decide(_ context.Context, d agent.PermissionDecision) error {
	c.told = append(c.told, d)
	return c.refuse[d.Verdict]
}

// A call that is allowed, but cannot be told so, must not wait for ever.
func TestACallThatCannotBeAllowedIsDenied(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want []agent.PermissionVerdict
	}{
		"told":                        {nil, []agent.PermissionVerdict{agent.Allow}},
		"a call that waits no more":   {agent.ErrNotPending, []agent.PermissionVerdict{agent.Allow}},
		"an agent that is gone":       {agent.ErrGone, []agent.PermissionVerdict{agent.Allow}},
		"an agent without the option": {errors.New("no way to allow it once"), []agent.PermissionVerdict{agent.Allow, agent.Deny}},
	} {
		s := newTurn(t, run.AllowTools)
		client := &choosy{refuse: map[agent.PermissionVerdict]error{agent.Allow: tt.err}}
		s.Session = client
		if reports, res := s.takeEvent(t.Context(), agent.Permission{CallID: "c1", Tool: "Bash"}); res != nil || len(reports) != 0 {
			t.Errorf("%s: %+v, %+v", name, reports, res)
		}
		var told []agent.PermissionVerdict
		for _, d := range client.told {
			if told = append(told, d.Verdict); d.CallID != "c1" || d.Verdict == agent.Deny && d.Reason != tt.err.Error() {
				t.Errorf("%s: told %+v", name, d)
			}
		}
		if !slices.Equal(told, tt.want) {
			t.Errorf("%s: told %v, want %v", name, told, tt.want)
		}
	}
}

// forgetful is an agent that knows no session of an earlier process.
type forgetful struct{ agent.Adapter }

func (forgetful) Start(_ context.Context, o agent.Options) (agent.Session, error) {
	if o.Resume != "" {
		return nil, agent.ErrNoSession
	}
	return &keeper{}, nil
}

// A client keeps no session without a turn. One in whose turn the agent was heard is not replaced by another.
func TestWhichUnknownSessionIsBegunAnew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		turns int
		last  *session.Handed
		anew  bool
	}{
		{"without a message", 0, nil, true},
		{"a message that it may have", 0, &session.Handed{ID: "m1", Stage: session.Begun}, true},
		{"heard in its first turn", 0, &session.Handed{ID: "m1", Stage: session.Heard}, false},
		{"after a turn", 1, &session.Handed{ID: "m1", Stage: session.Closed}, false},
		{"heard in a later turn", 1, &session.Handed{ID: "m2", Stage: session.Heard}, false},
	} {
		s := newProcess(t)
		s.note = note{Agent: "a0", Turns: tt.turns, Last: tt.last}
		end, err := s.startAgent(t.Context(), forgetful{}, agent.Options{Resume: "a0"})
		if (err == nil) != tt.anew || !tt.anew && end != session.Forgotten || (s.note.Agent == "a0") == tt.anew {
			t.Errorf("%s: %s, %v, the session %s", tt.name, end, err, s.note.Agent)
		}
	}
}
