package run

import (
	"slices"
	"time"
)

// State is the state that docs/contracts/run.md, 3, defines. It has no other members.
type State struct {
	RunID             ID        `json:"runId"`
	Status            Status    `json:"status"`
	CurrentPhase      *Phase    `json:"currentPhase"`
	Iteration         int       `json:"iteration"`
	MaxFixIterations  int       `json:"maxFixIterations"`
	LastEventID       *string   `json:"lastEventId"`
	PendingApprovalID string    `json:"pendingApprovalId,omitempty"`
	PendingQuestionID string    `json:"pendingQuestionId,omitempty"`
	CreatedAt         time.Time `json:"createdAt"`
	UpdatedAt         time.Time `json:"updatedAt"`
	LastError         *Problem  `json:"lastError,omitempty"`
}

// Action is the kind of a run's next step.
type Action string

// The actions. Each may end in certain events only; see eventsOfAction.
const (
	Begin  Action = "begin"  // create the run
	Start  Action = "start"  // start the phase
	Work   Action = "work"   // do the phase's work: call the provider, run the checks, raise the question
	Gate   Action = "gate"   // let the proposal through, or ask
	Decide Action = "decide" // wait for the approval's decision
	Apply  Action = "apply"  // apply the proposal
	Close  Action = "close"  // close the phase, whose outcome is known
	Await  Action = "await"  // wait for the answer
	Finish Action = "finish" // record the end
	Rest   Action = "rest"   // nothing: the run is over
)

// Step is the next step of a run.
type Step struct {
	Do    Action `json:"do"`
	Phase Phase  `json:"phase,omitempty"`
	// Again starts the phase once more in the same iteration. Its provider failed
	// or its checks could not run, and a person said to continue; or the
	// developer's question was answered.
	Again bool `json:"again,omitempty"`
	// Uncounted starts a fix that a person asked for.
	Uncounted bool `json:"uncounted,omitempty"`
}

// Guidance is one text that the coming prompts carry.
type Guidance struct {
	Kind      string `json:"kind"` // answer, rejection, refusal, verdict, note
	Iteration int    `json:"iteration"`
	Text      string `json:"text"`
}

// The kinds of guidance.
const (
	FromAnswer    = "answer"
	FromRejection = "rejection"
	FromRefusal   = "refusal"
	FromVerdict   = "verdict"
	FromNote      = "note"
)

// The bounds of the snapshot. They make it fit one payload.
const (
	maxGuidanceBytes = 16 << 10
	maxNotes         = 16
	maxNotesBytes    = MaxTextBytes
	maxNameBytes     = 128
)

// Snapshot is the whole state of a run. It results from the run's events.
// Continue-as-new carries it, and resume rebuilds it.
type Snapshot struct {
	Input Input `json:"input"`
	State State `json:"state"`
	Seq   int   `json:"seq"` // number of the last event
	// Chain is the chain of the lines of all events, see ExtendChain; empty: not known.
	Chain Digest `json:"chain,omitempty"`
	Next  Step   `json:"next"`

	Head    Commit `json:"head,omitempty"` // tip of the branch
	Commits int    `json:"commits,omitempty"`
	Stat    Stat   `json:"stat"` // the branch against its base
	// Baseline is the outcome of the checks on the base commit; nil: not known.
	// Unbased is set if a person let the run continue although its baseline has a problem.
	Baseline *Baseline `json:"baseline,omitempty"`
	Unbased  bool      `json:"unbased,omitempty"`
	Before   []string  `json:"failedBefore,omitempty"` // of the last evaluation
	Plan     *Ref      `json:"plan,omitempty"`
	Report   *Ref      `json:"report,omitempty"`  // the last evaluation
	Network  string    `json:"network,omitempty"` // what its checks reached, in one line
	Usage    Usage     `json:"usage"`
	Fixes    int       `json:"fixes,omitempty"` // fixes begun that count against maxFixIterations
	Gates    int       `json:"gates,omitempty"` // approvals asked for
	Asked    int       `json:"asked,omitempty"` // questions raised in this iteration
	// Uncounted is set if a person asked for the current fix.
	Uncounted bool    `json:"uncounted,omitempty"`
	Calls     Calls   `json:"calls,omitempty"`
	Notes     []Note  `json:"notes,omitempty"` // not yet in a prompt
	Problem   Problem `json:"problem,omitzero"`

	Permits  []Permit           `json:"permits,omitempty"`
	Proposal *Proposal          `json:"proposal,omitempty"`
	Lost     *Proposal          `json:"lost,omitempty"`     // could not be applied: see loseProposal
	Part     *Part              `json:"part,omitempty"`     // of a refused patch, accepted and not yet applied
	Rivals   []Candidate        `json:"rivals,omitempty"`   // of the proposal, ranked
	Chosen   int                `json:"chosen,omitempty"`   // the candidate that the proposal is from; zero: there is no contest
	Approval *ApprovalRequested `json:"approval,omitempty"` // pending
	Question *Question          `json:"question,omitempty"` // asked, or about to be
	// Recheck is set if Question comes from an evaluation that judged nothing. The
	// answer then leads to another evaluation.
	Recheck  bool       `json:"recheck,omitempty"`
	Guidance []Guidance `json:"guidance,omitempty"`
	// Moved is copied from RunCompleted.
	Moved string `json:"moved,omitempty"`
	// Refused refers to the last patch or answer that was refused.
	Refused *Ref `json:"refused,omitempty"`
	outcome      // recorded by Close
}

// Calls counts the provider calls of each phase in this iteration. The count is
// part of the names of their artifacts.
type Calls map[Phase]int

type outcome struct {
	Outcome Result `json:"outcome,omitempty"`
	// After is the step that follows once the phase is closed or the question answered.
	After Step `json:"after,omitzero"`
	// End is the terminal status that Finish records.
	End Status `json:"end,omitempty"`
}

// New returns the snapshot of a run that has no events yet.
func New(in Input) *Snapshot {
	return &Snapshot{Input: in, Next: Step{Do: Begin}}
}

// Phase returns the current phase; empty before the first and after the last.
func (s *Snapshot) Phase() Phase {
	if s.State.CurrentPhase == nil {
		return ""
	}
	return *s.State.CurrentPhase
}

// BudgetLeft returns the rest of each budget. A zero result stands for no budget
// unless ok is false. ok is false when a budget is used up.
func (s *Snapshot) BudgetLeft() (tokens int64, cost Micros, ok bool) {
	ok = true
	if s.Input.MaxTokens > 0 {
		tokens = s.Input.MaxTokens - s.Usage.TotalTokens
		ok = tokens > 0
	}
	if s.Input.MaxCost > 0 {
		cost = s.Input.MaxCost - s.Usage.Cost
		ok = ok && cost > 0
	}
	return tokens, cost, ok
}

// AddNote keeps guidance for the next prompt.
func (s *Snapshot) AddNote(n Note) { s.Notes = append(s.Notes, n) }

// RestoreNotes replaces the waiting notes by the given ones, which are in no event
// yet. It drops the notes that CheckNote refuses.
func (s *Snapshot) RestoreNotes(notes []Note) {
	s.Notes = nil
	for _, n := range notes {
		if s.CheckNote(n) == nil {
			s.AddNote(n)
		}
	}
}

func (s *Snapshot) addGuidance(kind, text string) {
	if text == "" {
		return
	}
	text = clipText(text, MaxTextBytes)
	s.Guidance = append(s.Guidance, Guidance{Kind: kind, Iteration: s.State.Iteration, Text: text})
	total := 0
	for i, g := range slices.Backward(s.Guidance) {
		if total += len(g.Text); total > maxGuidanceBytes {
			s.Guidance = slices.Clone(s.Guidance[i+1:])
			return
		}
	}
}
