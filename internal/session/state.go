package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Input holds everything that decides how a session behaves. It is fixed at the start, but for the sticky choice and
// the budgets.
type Input struct {
	ID       ID     `json:"id"`
	Title    string `json:"title,omitempty"` // one line for people
	Provider string `json:"provider"`        // the spec of an agent
	// Dir is the directory in which a program that the spec names by a relative path is looked for.
	Dir string `json:"dir,omitempty"`
	// Repository is the commit from which the session's checkout is made.
	Repository run.Repository `json:"repository"`
	// Sandbox is the policy for the box; empty means run.SandboxRequired. Tools is the policy for tool
	// calls; empty means run.AskTools. Network lets the tools reach the network where the sandbox can distinguish this.
	Sandbox run.Sandbox   `json:"sandbox,omitempty"`
	Tools   run.Tools     `json:"tools,omitempty"`
	Network bool          `json:"network,omitempty"`
	Setup   setup.Options `json:"setup,omitzero"`
	// Model is the sticky model; the sticky mode is Setup.Mode.
	Model string `json:"model,omitempty"`
	// MaxTokens and MaxCost are the budgets; zero is none.
	MaxTokens int64      `json:"maxTokens,omitempty"`
	MaxCost   run.Micros `json:"maxCostMicros,omitempty"`
	// Deliveries is how much must be proved before a delivery; empty means delivery.StrictSafe.
	Deliveries delivery.Mode `json:"deliveries,omitempty"`
	// Runs lets the agent start runs; nil: it cannot.
	Runs *Grant `json:"runs,omitempty"`
	// Notify holds the channels by which people learn that the session asks.
	Notify []run.Channel `json:"notify,omitempty"`
}

// maxTitle bounds a title in bytes.
const maxTitle = 200

// Validate returns an error if no session can begin with the input. It does not know the kinds of
// providers.
func (in Input) Validate() error {
	switch {
	case in.ID.Validate() != nil:
		return in.ID.Validate()
	case in.Provider == "":
		return errors.New("no provider: name an agent")
	case in.Repository.Path == "" || in.Repository.Base == "":
		return errors.New("no repository, or no commit of it")
	case len(in.Title) > maxTitle || strings.ContainsAny(in.Title, "\n\x00"):
		return fmt.Errorf("the title: want one line of at most %d bytes", maxTitle)
	case in.MaxTokens < 0 || in.MaxCost < 0:
		return errors.New("a budget below zero")
	}
	return in.Runs.check(in)
}

// Kind returns the kind of the agent.
func (in Input) Kind() setup.Kind {
	kind, _, _ := strings.Cut(in.Provider, ":")
	return setup.Kind(kind)
}

// Choice returns the sticky choice of model and mode.
func (in Input) Choice() setup.Choice { return setup.Choice{Model: in.Model, Mode: in.Setup.Mode} }

// Message is what a person or a program says to the session.
type Message struct {
	ID   string `json:"id"` // of the caller; a message that is said twice is said once
	Text string `json:"text"`
	By   string `json:"by,omitempty"`
	// Override holds for the turn of this message alone, and wins field by field.
	Override setup.Choice `json:"override,omitzero"`
	// Fresh begins a new session of the agent for it, which knows nothing of earlier turns.
	Fresh bool `json:"fresh,omitempty"`
}

// Process is a process of the agent, from its start to its end. Its events have no gap.
type Process struct {
	Epoch  int          `json:"epoch"` // its number in the session, from 1
	Choice setup.Choice `json:"choice,omitzero"`
	Fresh  bool         `json:"fresh,omitempty"`
	// Queue is the task queue of the worker that owns the process; empty until the agent takes input.
	Queue string    `json:"queue,omitempty"`
	Since time.Time `json:"since"`
	Last  int       `json:"last,omitempty"` // number of the last report of the process
	// Outdated says that the sticky choice has changed since the agent was started. The process ends where it has no
	// turn: the client takes another choice at its start only.
	Outdated bool `json:"outdated,omitempty"`
	Stopping bool `json:"stopping,omitempty"` // it was asked to end
}

// Ready reports whether the agent takes input.
func (s *Process) Ready() bool { return s != nil && s.Queue != "" && !s.Stopping }

// Turn is the current turn, or the turn that was cut off and is not settled yet.
type Turn struct {
	Message
	// Delivery says that the turn is a delivery's: the delivery half of the workflow settles it.
	Delivery bool      `json:"delivery,omitempty"`
	Since    time.Time `json:"since"`
	// Parts counts how often the agent was asked to continue the turn, Resumes how often after the end of
	// a process: a raised budget is the other reason.
	Parts   int `json:"parts,omitempty"`
	Resumes int `json:"resumes,omitempty"`
	// Cut says that the process ended in the turn. Due says that the agent is to continue it.
	Cut bool `json:"cut,omitempty"`
	Due bool `json:"due,omitempty"`
	// Spent is the usage of the parts of the turn before this process.
	Spent run.Usage `json:"spent,omitzero"`
}

// Past is a message that has ended.
type Past struct {
	ID         string    `json:"id"`
	By         string    `json:"by,omitempty"`
	At         time.Time `json:"at"`
	Outcome    Outcome   `json:"outcome"`
	Reason     string    `json:"reason,omitempty"`    // of an outcome other than completed
	Answer     run.Ref   `json:"answer,omitzero"`     // the agent's last message
	Transcript run.Ref   `json:"transcript,omitzero"` // what the agent said and did in the last process that had the turn
	Gist       string    `json:"gist,omitempty"`      // the head of the answer, made safe for display
	Usage      run.Usage `json:"usage,omitzero"`
	Resumes    int       `json:"resumes,omitempty"`
}

// Line returns what the message came to in one line.
func (p Past) Line() string { return strings.TrimSpace(p.Gist + " " + p.Reason) }

// Ask is a tool call that waits for a person.
type Ask struct {
	ApprovalID string         `json:"approvalId"`
	Digest     run.Digest     `json:"digest"`
	Permission run.Permission `json:"permission"`
	Since      time.Time      `json:"since"`
	// Decided is the decision, until the agent gets it.
	Decided *run.Decision `json:"decided,omitempty"`
}

// Question is a question about a used-up budget.
type Question struct {
	ID string `json:"id"`
	run.Question
	Since time.Time `json:"since"`
}

// Snapshot is the state of a session.
type Snapshot struct {
	Input    Input        `json:"input"`
	State    State        `json:"state"`
	Reason   string       `json:"reason,omitempty"` // of the state, for a person
	Since    time.Time    `json:"since"`            // of the state
	Agent    string       `json:"agent,omitempty"`  // the agent's own id of its session
	Epochs   int          `json:"epochs"`           // agent processes so far
	Process  *Process     `json:"process,omitempty"`
	Queue    []Message    `json:"queue,omitempty"` // not handed over yet, the oldest first
	Turn     *Turn        `json:"turn,omitempty"`
	Asks     []Ask        `json:"asks,omitempty"`
	Gates    int          `json:"gates,omitempty"` // asks and questions so far
	Question *Question    `json:"question,omitempty"`
	Permits  []run.Permit `json:"permits,omitempty"`
	Usage    run.Usage    `json:"usage,omitzero"`
	// Overrun is the answer of the part of a turn that used up a budget last. Its usage counts, and the note on disk
	// has it until the next part is handed over.
	Overrun run.Ref `json:"overrun,omitzero"`
	// Unseen is the message or the delivery whose turn was closed before its process reported all usage; empty: none.
	Unseen string `json:"unseen,omitempty"`
	Past   []Past `json:"past,omitempty"` // the oldest first

	// Wake says that the agent is to live although no message waits: a process was lost.
	Wake bool `json:"wake,omitempty"`
	// Tries counts the processes in a row that ended before the agent took input; NotBefore is when the
	// next one may begin.
	Tries     int       `json:"tries,omitempty"`
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Forgot says that the agent did not know its session when it was last started.
	Forgot bool `json:"forgot,omitempty"`
	// Wakes counts the wakes for deliveries in a row that brought none; NextWake is when the next one may come.
	Wakes    int       `json:"wakes,omitempty"`
	NextWake time.Time `json:"nextWake,omitzero"`
	// Renew says that the process is to end, and Leave that the session is.
	Renew bool `json:"renew,omitempty"`
	Leave bool `json:"leave,omitempty"`

	// Notified is the id of the last wait that a notice was sent for.
	Notified string `json:"notified,omitempty"`

	// RefusedSignals are the latest signals that the session has not taken.
	RefusedSignals []run.RefusedSignal `json:"refusedSignals,omitempty"`
}

// The bounds of a snapshot, which every continue-as-new carries.
const (
	MaxQueue   = 32        // messages that wait
	MaxMessage = 32 << 10  // bytes of one message
	maxWaiting = 128 << 10 // bytes of all that wait
	maxPast    = 100
	maxPermits = 48
	maxResumes = 2 // of one turn, as docs/contracts/agent.md has it
)

// New returns the snapshot of a session that has done nothing yet.
func New(in Input, now time.Time) *Snapshot {
	return &Snapshot{Input: in, State: Asleep, Since: now}
}

// The errors of refused messages. A refused message changes nothing.
var (
	ErrRetired = errors.New("the session is retired")
	ErrFull    = fmt.Errorf("%d messages are waiting already", MaxQueue)
	ErrIdle    = errors.New("no turn is in progress")
)

// CheckMessage returns nil if the message can be taken. A message that is known is fine.
func (s *Snapshot) CheckMessage(m Message) error {
	if err := checkName(m.By); err != nil {
		return err
	}
	if err := m.Override.Validate(s.Input.Kind()); err != nil {
		return err
	}
	return s.checkPlace(m)
}

// checkName returns an error for the name of a sender that history cannot carry.
func checkName(by string) error {
	if len(by) > maxTitle {
		return fmt.Errorf("the sender's name has %d bytes, at most %d fit", len(by), maxTitle)
	}
	return nil
}

// CheckSender returns nil if the session takes a message without content of its own, such as a stop, by that name.
func (s *Snapshot) CheckSender(by string) error {
	if s.isLeaving() {
		return ErrRetired
	}
	return checkName(by)
}

// isLeaving reports whether the session is retired, or about to be.
func (s *Snapshot) isLeaving() bool { return s.State == Retired || s.Leave }

// checkPlace returns nil if the message has a form that can be kept, and a place in the queue. Histories depend on it.
func (s *Snapshot) checkPlace(m Message) error {
	waiting := len(m.Text)
	for _, q := range s.Queue {
		waiting += len(q.Text)
	}
	switch {
	case s.isLeaving():
		return ErrRetired
	case m.ID == "" || len(m.ID) > 128:
		return errors.New("the message has no id of 1 to 128 bytes")
	case strings.TrimSpace(m.Text) == "":
		return run.ErrEmpty
	case len(m.Text) > MaxMessage:
		return fmt.Errorf("the message has %d bytes, at most %d fit: put the rest into a file of the repository", len(m.Text), MaxMessage)
	case s.Knows(m.ID):
		return nil
	case len(s.Queue) >= MaxQueue || waiting > maxWaiting:
		return ErrFull
	}
	return nil
}

// Knows reports whether the message waits, is in progress, or is among the last ended ones.
func (s *Snapshot) Knows(id string) bool {
	return s.Turn != nil && s.Turn.ID == id ||
		slices.ContainsFunc(s.Queue, func(m Message) bool { return m.ID == id }) ||
		slices.ContainsFunc(s.Past, func(p Past) bool { return p.ID == id })
}

// pendingAsk returns the pending ask with that id; nil if there is none.
func (s *Snapshot) pendingAsk(approval string) *Ask {
	i := slices.IndexFunc(s.Asks, func(a Ask) bool { return a.ApprovalID == approval && a.Decided == nil })
	if i < 0 || approval == "" {
		return nil
	}
	return &s.Asks[i]
}

// Left returns the rest of the budgets; a member is zero if there is no such budget, and -1 if it is used
// up.
func (s *Snapshot) Left() (tokens int64, cost run.Micros) {
	if s.Input.MaxTokens > 0 {
		tokens = cmp.Or(max(s.Input.MaxTokens-s.Usage.TotalTokens, 0), -1)
	}
	if s.Input.MaxCost > 0 {
		cost = cmp.Or(max(s.Input.MaxCost-s.Usage.Cost, 0), -1)
	}
	return tokens, cost
}
