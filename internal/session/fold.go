package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// ErrTransition is the error for an event that is out of turn. Such an event changes nothing.
var ErrTransition = errors.New("not a transition of a session")

func outOfTurn(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrTransition)...)
}

// Event is something that happens to a session. The types below are all there are.
type Event interface{ isEvent() }

// The events, besides Report.
type (
	// Said adds a message to the queue.
	Said struct{ Message Message }
	// ProcessStarting says that a process is being started.
	ProcessStarting struct {
		Choice setup.Choice
		Fresh  bool
	}
	// HandingBegun says that the head of the queue, or the turn that is to continue, is being handed over.
	HandingBegun struct{}
	// DeliveryBegun says that a delivery is being handed over, which begins a turn.
	DeliveryBegun struct{ ID string }
	// NotHanded says that the message of the turn surely did not reach the agent.
	NotHanded struct{ ID string }
	// WakeAsked says that the agent is to live although no message waits. Delivery says that a delivery waits.
	WakeAsked struct{ Delivery bool }
	// ProcessStopping says that the process was asked to end.
	ProcessStopping struct{}
	// ProcessEnded ends the process.
	ProcessEnded struct {
		Epoch  int
		End    End
		Reason string
		// Found is as in Ready; nil if the note is not known.
		Found *Handed
	}
	// TurnDropped ends a turn that was cut off, instead of continuing it.
	TurnDropped struct{}
	// Decided is the decision about a tool call.
	Decided struct{ Decision run.Decision }
	// Chosen changes the sticky choice.
	Chosen struct{ Change setup.Change }
	// DecisionSent says that the agent got a decision, or that its call no longer waits.
	DecisionSent struct{ ApprovalID string }
	// Answered is the answer to the question about a budget.
	Answered struct{ Reply run.Reply }
	// BudgetAsked asks about a budget that is used up.
	BudgetAsked struct{}
	// StopAsked ends the process and withdraws the messages that wait. RetireAsked also ends the session.
	StopAsked   struct{ By string }
	RetireAsked struct{ By string }
	// Retirement ends the session. No process may be left. Found is as in Ready.
	Retirement struct{ Found *Handed }
)

func (Report) isEvent()          {}
func (Said) isEvent()            {}
func (ProcessStarting) isEvent() {}
func (HandingBegun) isEvent()    {}
func (DeliveryBegun) isEvent()   {}
func (NotHanded) isEvent()       {}
func (WakeAsked) isEvent()       {}
func (ProcessStopping) isEvent() {}
func (ProcessEnded) isEvent()    {}
func (TurnDropped) isEvent()     {}
func (Decided) isEvent()         {}
func (Chosen) isEvent()          {}
func (DecisionSent) isEvent()    {}
func (Answered) isEvent()        {}
func (BudgetAsked) isEvent()     {}
func (StopAsked) isEvent()       {}
func (RetireAsked) isEvent()     {}
func (Retirement) isEvent()      {}

// Apply folds one event into the snapshot. For an event that is out of turn it returns an error that
// wraps ErrTransition, and leaves the snapshot unchanged.
func (s *Snapshot) Apply(now time.Time, e Event) error {
	if s.State == Retired {
		return outOfTurn("%T of a retired session", e)
	}
	f := fold{s, now.UTC()}
	if err := f.apply(e); err != nil {
		return err
	}
	f.updateState()
	return nil
}

// fold is the application of one event. Its methods check everything before they change anything.
type fold struct {
	*Snapshot
	now time.Time
}

func (f fold) apply(e Event) error {
	switch e := e.(type) {
	case Said:
		return f.addMessage(e.Message)
	case ProcessStarting:
		return f.processStarting(e)
	case Report:
		return f.foldReport(e)
	case HandingBegun:
		return f.handingBegun()
	case DeliveryBegun:
		return f.deliveryBegun(e)
	case NotHanded:
		return f.notHanded(e)
	case WakeAsked:
		return f.wakeAsked(e)
	case ProcessStopping:
		return f.processStopping()
	case ProcessEnded:
		return f.processEnded(e)
	case TurnDropped:
		return f.dropTurn()
	case Decided:
		return f.keepDecision(e.Decision)
	case Chosen:
		return f.changeChoice(e.Change)
	case DecisionSent:
		return f.removeDecided(e)
	case Answered:
		return f.takeReply(e.Reply)
	case BudgetAsked:
		return f.budgetAsked()
	case StopAsked:
		return f.stopSession(e.By, false)
	case RetireAsked:
		return f.stopSession(e.By, true)
	case Retirement:
		return f.retireSession(e)
	}
	return outOfTurn("unknown event %T", e)
}

// addMessage adds a message. One that is known changes nothing.
func (f fold) addMessage(m Message) error {
	if err := f.checkPlace(m); err != nil {
		return outOfTurn("%v", err)
	}
	if !f.Knows(m.ID) {
		f.Queue = append(f.Queue, m)
		f.NotBefore, f.Tries = time.Time{}, 0 // a person may have fixed the cause
	}
	return nil
}

func (f fold) processStarting(e ProcessStarting) error {
	if f.Process != nil {
		return outOfTurn("a second agent process besides %d", f.Process.Epoch)
	}
	f.Epochs++
	f.Process = &Process{Epoch: f.Epochs, Choice: e.Choice, Fresh: e.Fresh, Since: f.now}
	f.Wake, f.Renew, f.Reason = false, false, ""
	f.setState(Starting, "")
	return nil
}

// foldReport folds what the owner of the process saw. Reports of another process, and repeated ones, are out
// of turn.
func (f fold) foldReport(r Report) error {
	if f.Process == nil || r.Epoch != f.Process.Epoch || r.N <= f.Process.Last {
		return outOfTurn("report %d of agent process %d", r.N, r.Epoch)
	}
	var err error
	switch {
	case r.Ready != nil:
		err = f.ready(*r.Ready)
	case r.Named != nil:
		f.Agent = r.Named.Agent
	case r.Ended != nil:
		err = f.turnEnded(*r.Ended)
	case r.Asked != nil:
		err = f.openAsk(*r.Asked)
	case r.Withdrawn != nil:
		f.withdrawAsk(r.Withdrawn.CallID)
	case r.Observation != nil: // of the delivery half
	default:
		err = outOfTurn("an empty report")
	}
	if err == nil {
		f.Process.Last = r.N
	}
	return err
}

// ready takes up what the note on disk says of the message that was in progress.
func (f fold) ready(e Ready) error {
	if f.Process.Queue != "" || e.Queue == "" {
		return outOfTurn("agent process %d has started already, or names no queue", f.Process.Epoch)
	}
	f.Process.Queue, f.Tries, f.NotBefore, f.Forgot = e.Queue, 0, time.Time{}, false
	if e.Agent != "" {
		f.Agent = e.Agent
	}
	f.countUnseen(e.Found)
	f.Unseen = "" // no later note reports it
	if f.Turn == nil || f.Turn.Delivery || !f.Turn.Cut {
		return nil
	}
	if e.Found == nil || e.Found.ID != f.Turn.ID {
		f.requeueTurn()
		return nil
	}
	switch e.Found.Stage {
	case Closed:
		switch end := e.Found.End; {
		case end == nil:
		case !f.isCounted(end):
			return f.turnEnded(*end)
		case !f.Turn.Due:
			f.takePartBack() // its handing over is not in the note
			return nil
		default:
			return nil
		}
	case Heard:
		f.Turn.Spent = e.Found.Used
		if f.Turn.Resumes >= maxResumes {
			f.closeTurn(TurnEnded{Outcome: CutOff, Reason: fmt.Sprintf("the agent's process ended %d times in this turn", maxResumes+1), Usage: e.Found.Used})
			return nil
		}
		f.Turn.Due = true // an open ask delays it
		return nil
	}
	f.closeTurn(TurnEnded{
		Outcome: Unknown, Reason: "the agent's process ended before the agent confirmed the message: it may have received it", Usage: e.Found.Used,
	})
	return nil
}

// requeueTurn puts the message of the turn back to the head of the queue: it surely was not handed over.
func (f fold) requeueTurn() {
	f.Queue = slices.Insert(f.Queue, 0, f.Turn.Message)
	f.Turn, f.Asks = nil, nil
}

func (f fold) handingBegun() error {
	if !f.Process.Ready() || f.Turn != nil && !f.mustContinueTurn() || f.Turn == nil && len(f.Queue) == 0 {
		return outOfTurn("no message to send")
	}
	if f.Turn != nil {
		f.Turn.Cut, f.Turn.Due = false, false
		f.Turn.Parts++
		f.Turn.Resumes++
		f.dropAsks()
		return nil
	}
	f.Turn = &Turn{Message: f.Queue[0], Since: f.now}
	f.Queue = slices.Delete(f.Queue, 0, 1)
	return nil
}

func (f fold) deliveryBegun(e DeliveryBegun) error {
	if !f.Process.Ready() || f.Turn != nil || e.ID == "" {
		return outOfTurn("result %s", e.ID)
	}
	f.Turn = &Turn{Message: Message{ID: e.ID}, Delivery: true, Since: f.now}
	f.Wakes, f.NextWake = 0, time.Time{}
	return nil
}

// notHanded takes the handing over back.
func (f fold) notHanded(e NotHanded) error {
	switch {
	case f.Turn == nil || f.Turn.ID != e.ID:
		return outOfTurn("message %s was not sent", e.ID)
	case f.Turn.Delivery:
		f.Turn, f.Asks = nil, nil
	case f.Turn.Parts > 0:
		f.takePartBack()
	default:
		f.requeueTurn()
	}
	return nil
}

// takePartBack takes back that the agent was asked to continue the turn.
func (f fold) takePartBack() {
	f.Turn.Parts--
	f.Turn.Resumes--
	f.Turn.Cut, f.Turn.Due = true, true
}

// turnEnded ends the turn. A turn that a used-up budget ended continues when the budget is raised.
func (f fold) turnEnded(e TurnEnded) error {
	if f.Turn == nil || f.Turn.ID != e.ID {
		return outOfTurn("the end of turn %s", e.ID)
	}
	if e.Exhausted && !f.Turn.Delivery {
		f.Usage, f.Overrun = f.Usage.Add(e.Usage), e.Answer
		f.Turn.Cut, f.Turn.Due, f.Turn.Spent = true, true, run.Usage{}
		f.Turn.Resumes-- // continuing after a raise is no resume after an end of a process
		f.Asks = nil
		f.askForBudget()
		return nil
	}
	f.closeTurn(e)
	return nil
}

func (f fold) dropTurn() error {
	if f.Turn == nil || !f.Turn.Cut || f.Turn.Delivery {
		return outOfTurn("no turn was cut off")
	}
	f.giveTurnUp(Interrupted, "interrupted after it was cut off")
	f.State = Asleep // settled from the process, if there is one
	return nil
}

func (f fold) closeTurn(e TurnEnded) {
	t := f.Turn
	if f.Process != nil {
		f.Process.Fresh = false // its new session is in use now
	}
	f.Usage = f.Usage.Add(e.Usage)
	f.Turn, f.Asks = nil, nil
	f.dropUsedPermits()
	if t.Delivery {
		return
	}
	f.rememberPast(Past{
		ID: t.ID, By: t.By, At: f.now, Outcome: e.Outcome, Reason: e.Reason, Answer: e.Answer, Transcript: e.Transcript, Gist: e.Gist, Usage: e.Usage, Resumes: t.Resumes,
	})
	f.askForBudget()
}

func (f fold) rememberPast(p Past) {
	f.Past = append(f.Past, p)
	f.Past = slices.Clone(f.Past[max(0, len(f.Past)-maxPast):])
}
