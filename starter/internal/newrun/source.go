package newrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Source finds the place that a run starts from: base, in a directory or at a URL. A URL is fetched by the worker that
// dial reaches, with the credentials of its user, or by this process if dial is nil.
func Source(ctx context.Context, c *factory.Factory, repo, base string, byAgent bool, dial func(context.Context) (*runs.Client, func(), error)) (workspace.Source, error) {
	if _, err := os.Stat(repo); err == nil || !run.IsURL(repo) {
		return workspace.Inspect(ctx, repo, base)
	}
	url, err := run.ParseURL(repo)
	switch {
	case err != nil:
		return workspace.Source{}, usage.Errorf("--repo: %w", err)
	case byAgent: // the credentials are the operator's
		return workspace.Source{}, usage.Errorf("--repo: a run that an agent starts takes a directory, not a URL")
	}
	if dial == nil {
		work := c.ErrorScreen().Work("fetches " + display.Line(url))
		src, err := workspace.InspectLatest(ctx, remote.Mirrors{Dir: rundir.Mirrors(c.RunsDir)}, run.Repository{URL: url}, base)
		work.Stop()
		src.URL = url
		return src, err
	}
	client, closeClient, err := dial(ctx)
	if err != nil {
		return workspace.Source{}, err
	}
	defer closeClient()
	return Fetched(ctx, c, client, url, base)
}

// Fetched has the worker fetch a URL, and returns the place in its mirror.
func Fetched(ctx context.Context, c *factory.Factory, client *runs.Client, url, base string) (workspace.Source, error) {
	work := c.ErrorScreen().Work("fetches " + display.Line(url))
	at, err := client.Mirror(ctx, activities.MirrorInput{URL: url, Base: base})
	work.Stop()
	if err != nil {
		return workspace.Source{}, err
	}
	if _, err := os.Stat(at.Path); err != nil {
		return workspace.Source{}, fmt.Errorf("the mirror of %s is at %s on the worker's host, not on this one: start the run there", display.Line(url), display.Line(at.Path))
	}
	src, err := workspace.Inspect(ctx, at.Path, string(at.Commit))
	src.URL, src.Root = url, at.Path
	return src, err
}

// filesOf returns the files among which checks are looked for: of the work tree, or of the commit in a mirror.
func filesOf(ctx context.Context, src workspace.Source) (_ fs.FS, done func()) {
	if src.URL == "" {
		return os.DirFS(filepath.Join(src.Root, filepath.FromSlash(src.Prefix))), func() {}
	}
	files := workspace.OpenCommit(ctx, src.Root, src.Base)
	return files, func() { files.Close() }
}

// Begin gives the run a name and the branch that goes with it, and starts it. The template is the
// branch's; empty means run.DefaultBranch.
func Begin(ctx context.Context, c *factory.Factory, client *runs.Client, in *run.Input, template string) error {
	return explainTaken(client.Begin(ctx, in, c.RunsDir, template), template)
}

// explainTaken says what to do about a branch that is not free.
func explainTaken(err error, template string) error {
	if errors.Is(err, workspace.ErrBranchTaken) {
		return fmt.Errorf("%w: choose another branch in the file or flag that names it (%s), or rename the one that is there", err, template)
	}
	return err
}
