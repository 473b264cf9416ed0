package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	providersession "github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// RunProcess starts or resumes the agent of a session, owns its process, and reports what it sees to the
// workflow. It returns when the process has ended, with the reason. A cancellation ends the process in
// good order. The process dies with the worker. RunProcess must not be retried: its epoch has ended with it.
func (a *Activities) RunProcess(ctx context.Context, in ProcessInput) (ProcessResult, error) {
	show, stop := report.Heartbeat(ctx, report.Progress{Doing: "waits for a free place"})
	defer stop()
	s := &agentProcess{a: a, in: in, id: in.Session.ID, epoch: in.Epoch, slot: a.Runs.Session(string(in.Session.ID)), show: show, leave: make(chan string, 1), calls: make(chan agent.Event)}
	release, holder, err := s.holdDirectory(ctx)
	if err != nil {
		return s.unstartedResult(ctx, session.Held, fmt.Sprintf("process %d of this host uses the directory of the session: %v", holder, err))
	}
	defer release()
	if s.note, err = loadNote(s.slot); err != nil {
		return s.unstartedResult(ctx, session.Unstarted, err.Error())
	}
	if err := a.takePlace(ctx, s); err != nil {
		return s.unstartedResult(ctx, session.Ended, err.Error())
	}
	defer a.givePlace(s)
	closeTools, err := s.openTools(ctx)
	if err != nil {
		return s.unstartedResult(ctx, session.Unstarted, err.Error())
	}
	defer closeTools()
	defer s.giveBackKit()
	if end, err := s.checkAndStart(ctx); err != nil {
		return s.unstartedResult(ctx, end, err.Error())
	}
	s.pid.Store(int64(s.PID()))
	failpoint.Hit("session.started")
	if err := s.reportReady(ctx); err != nil {
		s.endProcess()
		return ProcessResult{End: session.Ended, Reason: err.Error()}, nil
	}
	failpoint.Hit("session.ready")
	defer s.registerPeer(ctx)()
	res := s.followAgent(ctx)
	res.Reason = report.Summary(a.Redact.String(res.Reason))
	s.endProcess()
	s.logStderr()
	res.Found = s.note.Last // nothing is noted after the end
	return res, nil
}

// unstartedResult returns the result of a process whose agent did not start. One that was cancelled ended on
// request.
func (s *agentProcess) unstartedResult(ctx context.Context, end session.End, reason string) (ProcessResult, error) {
	if ctx.Err() != nil {
		return ProcessResult{End: session.Ended, Found: s.note.Last}, nil
	}
	return ProcessResult{End: end, Reason: report.Summary(s.a.Redact.String(reason)), Found: s.note.Last}, nil
}

// holdDirectory takes the session's directory, which no two processes have at once.
func (s *agentProcess) holdDirectory(ctx context.Context) (release func(), holder int, err error) {
	ctx, cancel := context.WithTimeout(ctx, holdLimit)
	defer cancel()
	release, err = s.slot.Hold(ctx, func() {}, func(pid int) { holder = pid })
	return release, holder, err
}

// checkAndStart checks that the agent does not run elsewhere, and starts it. After an error no process is left, and end says
// why.
func (s *agentProcess) checkAndStart(ctx context.Context) (end session.End, err error) {
	s.show(report.Progress{Doing: "starts the agent"})
	if s.in.Fresh {
		s.note.Agent, s.note.Rung, s.note.Turns = "", 0, 0
		s.note.Own, s.note.Strayed, s.note.OwnMode, s.note.StrayedMode = "", false, "", false
	}
	adapter, err := s.a.Open(Opening{Spec: s.in.Session.Provider, Dir: s.in.Session.Dir, Sandbox: s.in.Session.Sandbox})
	if err != nil {
		return session.Unstarted, err
	}
	if err := s.checkNotRunning(adapter); err != nil {
		return session.Held, err
	}
	o, err := s.startOptions(ctx)
	if err != nil {
		return session.Unstarted, err
	}
	s.noteStarting()
	if err := s.note.keepIn(s.slot); err != nil {
		return session.Unstarted, err
	}
	failpoint.Hit("session.before-start")
	return s.startAgent(ctx, adapter, o)
}

// startAgent starts the agent. A session of the agent in which no turn was taken may be unknown to it, and
// is started again. If the agent was heard in its first turn, it has forgotten the session.
func (s *agentProcess) startAgent(ctx context.Context, adapter agent.Adapter, o agent.Options) (end session.End, err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s.Session, err = adapter.Start(ctx, o)
	heard := s.note.Last != nil && s.note.Last.Stage == session.Heard
	if errors.Is(err, agent.ErrNoSession) && s.note.Turns == 0 && !heard {
		o.Resume, s.note.Agent = "", ""
		s.Session, err = adapter.Start(ctx, o)
	}
	if errors.Is(err, agent.ErrNoSession) {
		return session.Forgotten, fmt.Errorf("the agent no longer knows its session %s: `say --fresh` starts a new one, without the old conversation", s.note.Agent)
	}
	if err != nil {
		return session.Unstarted, err
	}
	if s.noteStarted() {
		err = s.note.keepIn(s.slot)
	}
	if err != nil {
		s.endProcess()
	}
	return session.Unstarted, err
}

// noteStarting notes that a process of the agent is about to begin.
func (s *agentProcess) noteStarting() {
	s.note.Epoch, s.note.Orderly = s.epoch, false
	s.note.Strayed = s.note.Strayed || s.in.Choice.Model != ""
	s.note.StrayedMode = s.note.StrayedMode || s.in.Choice.Mode != ""
}

// noteStarted notes what the agent reported at its start. It reports whether the note has changed.
func (s *agentProcess) noteStarted() (changed bool) {
	changed = s.noteDefault()
	if id := s.Session.ID(); id != "" && id != s.note.Agent {
		s.note.Agent, changed = id, true
	}
	return s.noteModel() || changed
}

// noteModel notes the agent's own model, which some clients report in their first turn only. It reports whether the note
// has changed.
func (s *agentProcess) noteModel() bool {
	m, ok := s.Session.(agent.Modelled)
	if !ok || s.note.Strayed || m.Model() == "" || m.Model() == s.note.Own {
		return false
	}
	s.note.Own = m.Model()
	return true
}

// noteDefault notes the model and the mode that the agent has without a choice, as far as its client reports them. It reports
// whether the note has changed.
func (s *agentProcess) noteDefault() bool {
	d, ok := s.Session.(agent.Defaulted)
	if !ok {
		return false
	}
	before, own, begun := s.note, d.Default(), s.note.Agent == ""
	if begun || !s.note.Strayed {
		s.note.Own = own.Model
	}
	if begun || !s.note.StrayedMode {
		s.note.OwnMode = own.Mode
	}
	return s.note.Own != before.Own || s.note.OwnMode != before.OwnMode
}

// startChoice returns the choice of the start. Where a chosen model or mode has been in the way of the agent's own one,
// that is chosen: a client would continue with the last.
func (s *agentProcess) startChoice() agent.Choice {
	choice := s.in.Choice
	if choice.Model == "" && s.note.Strayed {
		choice.Model = s.note.Own
	}
	if choice.Mode == "" && s.note.StrayedMode {
		choice.Mode = s.note.OwnMode
	}
	return choice
}

// checkNotRunning returns an error if the agent's session runs in a process that is not ours, according to
// the agent's own client. That none of ours runs is known: this process has the session's directory, and
// an agent does not outlive its worker.
func (s *agentProcess) checkNotRunning(adapter agent.Adapter) error {
	p, ok := adapter.(agent.Prober)
	if !ok || s.note.Agent == "" {
		return nil
	}
	running, err := p.Running(s.note.Agent)
	switch {
	case running:
		return fmt.Errorf("its client says that session %s runs in another process", s.note.Agent)
	case err == nil, errors.Is(err, agent.ErrNoList):
		return nil
	case !s.note.Orderly: // what a process of ours left behind when it was killed
		return nil
	}
	return fmt.Errorf("cannot tell whether session %s runs elsewhere: %w", s.note.Agent, err)
}

// startOptions returns the options of the start. It makes the checkout the first time.
func (s *agentProcess) startOptions(ctx context.Context) (o agent.Options, err error) {
	in := s.in.Session
	work, err := openCheckout(s.slot, in.Repository)
	if err != nil {
		return o, err
	}
	if _, made := work.Made(); !made {
		if s.note.Epoch > 0 && s.note.Turns > 0 {
			return o, errors.New("the checkout of the session is damaged: retire the session and start another")
		}
		if err := work.Make(ctx, in.Repository.Base); err != nil {
			return o, err
		}
	}
	objects, err := work.Borrowed(s.a.Runs.Dir())
	if err != nil {
		return o, err
	}
	if err := in.Setup.Validate(in.Kind()); err != nil {
		return o, err
	}
	home, _ := s.a.LookupEnv("HOME")
	if err := (providersession.Places{Home: home, State: s.a.Runs.Dir()}).Check(in.Setup); err != nil {
		return o, err
	}
	o = agent.Options{
		Dir: work.WorkDir(), Top: work.Top(), Objects: objects, Home: filepath.Join(s.slot.Path(), "home"), Resume: s.note.Agent, Sandbox: agent.WorkspaceWrite, Network: in.Network,
		MaxOutputTokens: agent.AnswerTokens(s.note.Rung), Log: &s.stderr, Env: []string{sessionVariable + "=" + string(in.ID)},
	}
	s.dir = o.Dir
	if s.a.Kit != nil {
		if o.Kit, s.releaseKit, err = s.a.Kit(ctx, in.Repository, s.slot, in.Sandbox); err != nil {
			return o, err
		}
	}
	err = o.AddSetup(in.Setup, s.a.LookupEnv)
	o.Bridge = s.bridge
	o.Sticky = in.Choice()
	o.Override = s.startChoice()
	return o, err
}

// giveBackKit gives back what the agent's kit shows.
func (s *agentProcess) giveBackKit() {
	if s.releaseKit != nil {
		s.releaseKit()
	}
}

// sessionVariable names the variable by which programs of a session know it.
const sessionVariable = "RATCHET_SESSION"

// reportReady reports that the agent takes input, with what the note says of the last message.
func (s *agentProcess) reportReady(ctx context.Context) error {
	_, watched := s.Session.(agent.Watched)
	return s.sendReport(ctx, session.Report{Ready: &session.Ready{Queue: s.a.Queue, Agent: s.note.Agent, Watched: watched, Found: s.note.Last}})
}

// sendReport sends a report to the workflow. It stamps the report with the epoch and its number.
func (s *agentProcess) sendReport(ctx context.Context, r session.Report) error {
	s.reports++
	r.Epoch, r.N = s.epoch, s.reports
	return signalWorkflow(ctx, ReportSignal, r)
}

// isOver reports whether the workflow takes no more signals.
func isOver(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	return gone
}

// endProcess ends the process, in good order while stopLimit lasts. The note then says so.
func (s *agentProcess) endProcess() {
	s.a.closeProcess(s)
	defer s.endNote()
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	_ = s.Session.Stop(ctx) // by force at the latest
}

// endNote notes that the process was ended in good order, and lets nothing be noted afterwards: the next process may
// begin.
func (s *agentProcess) endNote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.note.Orderly = true
	_ = s.note.keepIn(s.slot) // without it a client's account in doubt counts as ours
}

// logStderr keeps the end of the agent's standard error. The record does not rely on it.
func (s *agentProcess) logStderr() {
	if text := s.stderr.TakeLines(); len(text) > 0 {
		_ = s.slot.Dir().Log("agent", rundir.Info, "stderr", map[string]any{"epoch": s.epoch, "text": string(s.a.Redact.Bytes(text))})
	}
}

// followAgent handles what the agent reports until the process ends.
func (s *agentProcess) followAgent(ctx context.Context) ProcessResult {
	stopping := activity.GetWorkerStopChannel(ctx)
	s.noteLife()
	tick := time.NewTimer(s.silenceLimit())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ProcessResult{End: session.Ended}
		case <-stopping:
			return ProcessResult{End: session.Slept, Reason: "its worker was stopped"}
		case reason := <-s.leave:
			if s.a.mayLeave(s) {
				return ProcessResult{End: session.Slept, Reason: reason}
			}
		case <-tick.C:
			if res := s.endIfSilent(); res != nil {
				return *res
			}
		case e := <-s.calls:
			if res := s.handleEvent(ctx, e); res != nil {
				return *res
			}
		case e, ok := <-s.Events():
			if !ok {
				return ProcessResult{End: session.Died, Reason: "the agent's session ended"}
			}
			if res := s.handleEvent(ctx, e); res != nil {
				return *res
			}
		}
		tick.Reset(s.silenceLimit())
	}
}
