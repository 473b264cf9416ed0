package activities

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/scratch"
)

// site implements provider.Site for one call.
type site struct {
	slot    rundir.Slot
	a       *Activities
	c       Call
	scratch *scratch.Scratch
	worker  log.Logger
	show    func(report.Progress)
}

func (a *Activities) site(ctx context.Context, c Call, show func(report.Progress)) (provider.Site, error) {
	s := site{slot: a.runs.Slot(c.RunID, c.Slot), a: a, c: c, worker: activity.GetLogger(ctx), show: show}
	var err error
	s.scratch, err = openScratch(s.slot, c.Repository)
	return s, err
}

func openScratch(slot rundir.Slot, repo run.Repository) (*scratch.Scratch, error) {
	return scratch.Open(scratch.Spec{Repo: repo.Path, Prefix: repo.Prefix, Dir: filepath.Join(slot.Path(), "checkout")})
}

// Slot returns the path of the slot's directory.
func (s site) Slot() string { return s.slot.Path() }

// Note returns the slot's note.
func (s site) Note() ([]byte, error) { return s.slot.Note() }

func (s site) SetNote(note []byte) error { return s.slot.SetNote(note) }

func (s site) Hold(ctx context.Context, wanted func()) (func(), error) {
	return s.slot.Hold(ctx, wanted, describeHolder("the agent's session", s.show))
}

func (s site) Files(ctx context.Context) ([]string, error) {
	w, release, err := s.a.workspaces.use(ctx, s.c.Header)
	if err != nil {
		return nil, err
	}
	defer release()
	files, err := w.Files(ctx, s.c.Head)
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(files))
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths, nil
}

func (s site) Read(ctx context.Context, path string, limit int64) ([]byte, int64, error) {
	w, release, err := s.a.workspaces.use(ctx, s.c.Header)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	return w.Read(ctx, s.c.Head, path, limit)
}

// Checkout makes the checkout. It keeps the present checkout only if
// keep is set and the checkout was made from the commit where the run stands.
func (s site) Checkout(ctx context.Context, keep bool) (provider.Checkout, error) {
	if at, ok := s.scratch.Made(); !keep || !ok || at != s.c.Head {
		if err := s.scratch.Make(ctx, s.c.Head); err != nil {
			return provider.Checkout{}, err
		}
	}
	objects, err := s.scratch.Borrowed(s.a.runs.Dir())
	if err != nil {
		return provider.Checkout{}, err
	}
	kit, release, err := s.a.agentKit(ctx, s.c.Repository, s.slot, s.c.Sandbox)
	return provider.Checkout{Dir: s.scratch.WorkDir(), Top: s.scratch.Top(), Objects: objects, Kit: kit, Release: release}, err
}

// Changes returns the diff of the checkout. If a patch cannot carry the changes, the
// error is a BAD_REQUEST, which the agent can correct.
func (s site) Changes(ctx context.Context) ([]byte, error) {
	diff, err := s.scratch.Changes(ctx, patch.Limits{Files: s.c.Patches.Files, Bytes: s.c.Patches.Bytes})
	if bad, ok := errors.AsType[*scratch.UnfitError](err); ok {
		return nil, &failure.Error{Code: failure.BadRequest, Message: display.Clip(bad.Error(), failure.MaxMessage)}
	}
	return diff, err
}

// unregisterSession removes the slot's session from the registry, if a worker died
// before it could.
func (a *Activities) unregisterSession(ctx context.Context, slot rundir.Slot) error {
	note, err := slot.Note()
	if err != nil {
		return err
	}
	if known := session.GardenIDIn(note); known != "" && a.forget != nil {
		return a.forget(ctx, known)
	}
	return nil
}

// maxLogged bounds the length of each value in the log.
const maxLogged = 1 << 10

func (s site) Log(what string, about map[string]string) { s.log(rundir.Info, what, about) }

func (s site) Warn(what string, about map[string]string) {
	s.log(rundir.Error, what, about)
	fields := []any{"run", string(s.c.RunID), "phase", string(s.c.Phase), "call", s.c.Number}
	for _, name := range slices.Sorted(maps.Keys(about)) {
		fields = append(fields, name, display.Clip(s.a.redact.String(about[name]), maxLogged))
	}
	s.worker.Warn(what, fields...)
}

func (s site) log(level, what string, about map[string]string) {
	fields := map[string]any{"iteration": s.c.Iteration, "call": s.c.Number}
	if s.c.Candidate > 0 {
		fields["attempt"] = s.c.Candidate
	}
	for name, value := range about {
		fields[name] = display.Clip(s.a.redact.String(value), maxLogged)
	}
	_ = s.a.runs.Run(s.c.RunID).Log("provider-"+string(s.c.Phase), level, what, fields) // the record does not rely on it
}

// stopAgents ends the run's agents that still wait, in this worker and in others, and
// removes their checkouts.
func (a *Activities) stopAgents(ctx context.Context, id run.ID) error {
	a.agents.Stop(a.runs.Agents(id) + string(filepath.Separator))
	names, err := a.runs.Slots(id)
	if err != nil {
		return err
	}
	for _, name := range names {
		release, err := a.runs.Slot(id, name).Hold(ctx, func() {}, nil)
		if err != nil {
			return err
		}
		defer release()
		if err := a.unregisterSession(ctx, a.runs.Slot(id, name)); err != nil {
			return err
		}
	}
	return git.RemoveTree(a.runs.Agents(id))
}
