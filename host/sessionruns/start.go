package sessionruns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/runtools"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// startRun starts the run of a wish, or returns the run that an earlier wish has started. Again reports the latter. A call
// that is cut off, or whose worker dies, leaves the run or none; the next call for it says which, and starts it if there
// is none.
func (s *served) startRun(ctx context.Context, asked session.RunWish) (w wish, again bool, err error) {
	if err := asked.Check(); err != nil {
		return w, false, err
	}
	message, err := s.Message()
	if err != nil {
		return w, false, err
	}
	select {
	case s.starting <- struct{}{}:
		defer func() { <-s.starting }()
	case <-ctx.Done():
		return w, false, ctx.Err()
	}
	id := asked.RunID(s.Session.ID, message)
	l, err := readLedger(s.Dir)
	if err != nil {
		return w, false, err
	}
	w, known := l.find(id)
	if !known {
		if w, err = s.permitWish(ctx, l, id, message, asked); err != nil {
			return w, false, err
		}
	}
	if w.Goal != run.DigestOf([]byte(asked.Goal)) {
		return w, false, fmt.Errorf("the key %s belongs to a run with another goal: choose another key", asked.Key)
	}
	if w, begun, err := s.findStarted(ctx, w, asked.Goal); err != nil || begun {
		return w, begun, err
	}
	ctx = context.WithoutCancel(ctx) // what has begun is finished
	w, err = s.nameAndStart(ctx, w, asked.Goal, known)
	if _, exists := errors.AsType[*runs.ExistsError](err); exists {
		if w, begun, err := s.findStarted(ctx, w, asked.Goal); err != nil || begun {
			return w, begun, err
		}
	}
	return w, false, err
}

// findStarted reports whether there is the run of a wish, and notes it.
func (s *served) findStarted(ctx context.Context, w wish, goal string) (wish, bool, error) {
	if w.Started {
		return w, true, nil
	}
	e, err := s.client.Describe(ctx, w.ID)
	if _, none := errors.AsType[*runs.NotFoundError](err); none {
		_, err := rundir.OfRun(s.RunsDir, w.ID) // the engine forgets a run that is long over
		w.Started = err == nil
	} else if err != nil {
		return w, false, err
	} else {
		w.Started, w.Name = true, e.Name
		w.Branch, _ = run.ExpandBranch(cmp.Or(s.Session.Runs.Branch, run.DefaultBranch), w.ID, w.Name, goal) // for display
	}
	if !w.Started {
		return w, false, nil
	}
	return w, true, s.keepWish(w)
}

// permitWish returns the wish for a new run, once the grant and the session's policy permit it in the turn of the message.
func (s *served) permitWish(ctx context.Context, l ledger, id run.ID, message string, asked session.RunWish) (wish, error) {
	g := s.Session.Runs
	if len(l.Runs) >= g.Total {
		return wish{}, fmt.Errorf("this session has started %d runs, its limit", len(l.Runs))
	}
	open, err := s.countOpen(ctx, l)
	if err != nil {
		return wish{}, err
	}
	if open >= g.AtOnce {
		return wish{}, fmt.Errorf("%d runs of this session are still open, its limit: wait for one with ratchet_run_wait", open)
	}
	src, err := workspace.Inspect(ctx, s.Session.Repository.Path, "HEAD")
	if err != nil {
		return wish{}, err
	}
	if err := g.Input(s.Session.ID, id, asked.Goal, src.Base).Validate(); err != nil {
		return wish{}, err
	}
	input, err := json.Marshal(map[string]string{"goal": asked.Goal, "run": string(id)})
	if err != nil {
		return wish{}, err
	}
	err = s.Permit(ctx, message, agent.Permission{
		CallID: "run-" + uuid.NewString(), Tool: runtools.Start, Input: input, Title: "start a run: " + display.OneLine(asked.Goal, 100),
		Reason: fmt.Sprintf("run %d of at most %d of this session, by %s on %s", len(l.Runs)+1, g.Total, g.Run.Providers.Developer, s.Session.Repository.Path),
	})
	return wish{ID: id, Goal: run.DigestOf([]byte(asked.Goal)), Base: src.Base, At: time.Now().UTC()}, err
}

// countOpen returns the number of wishes whose runs are not over. One whose run was never started is not counted.
func (s *served) countOpen(ctx context.Context, l ledger) (open int, err error) {
	for _, w := range l.Runs {
		e, err := s.client.Describe(ctx, w.ID)
		if _, none := errors.AsType[*runs.NotFoundError](err); none {
			continue
		}
		if err != nil {
			return 0, err
		}
		if e.Open {
			open++
		}
	}
	return open, nil
}

// nameAndStart starts the run of a wish, which is in the ledger before. Known reports that it was there already: the branch of
// a start that was cut off is removed first.
func (s *served) nameAndStart(ctx context.Context, w wish, goal string, known bool) (wish, error) {
	in := s.Session.Runs.Input(s.Session.ID, w.ID, goal, w.Base)
	template := s.Session.Runs.Branch
	if known {
		if err := runs.DropNames(ctx, in, s.RunsDir, template); err != nil {
			return w, err
		}
	} else if err := s.keepWish(w); err != nil {
		return w, err
	}
	failpoint.Hit("session.run-noted")
	if err := s.client.NameRun(ctx, &in, s.RunsDir, template); err != nil {
		return w, s.giveUp(w, err)
	}
	failpoint.Hit("session.run-named")
	if err := s.client.Start(ctx, in); err != nil {
		return w, fmt.Errorf("the run may have started: repeat the call to find out: %w", err)
	}
	failpoint.Hit("session.run-started")
	w.Started, w.Name, w.Branch = true, in.Name, in.BranchName()
	return w, s.keepWish(w)
}

// giveUp removes a wish whose run was surely not started, and returns the reason.
func (s *served) giveUp(w wish, why error) error {
	if _, exists := errors.AsType[*runs.ExistsError](why); exists {
		return why
	}
	return errors.Join(why, s.forgetWish(w.ID))
}
