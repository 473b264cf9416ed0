// Package resume is the command `starter resume`.
package resume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var detach bool
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Rebuild a run from its directory when the engine's state is gone",
		Long: `Rebuilds a run from the events in its directory and continues it under the
same id. Answers that were stored are not paid again, patches that are on the
branch are not applied again. A run that the engine still knows as open is
refused: it continues by itself. RUN is a name, a number, an id or the beginning of
one, or the run's directory: then the runs directory is the one that it lies in.`,
		Example: "  starter resume slug#14\n  starter resume /srv/ratchet/workflows/0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77",
		Args:    usage.Args(1, "one RUN: a name, its number, its id, or the run's directory"),
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "print the run id and do not follow")
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		_, _ = c.ResolveEngine() // without one the record is looked for, too
		path, err := recordPath(ctx, c, args[0])
		if err != nil {
			return fmt.Errorf("resume: %w", err)
		}
		s, err := Rebuild(ctx, c, path, cmd.Flags().Changed("runs-dir"))
		if err != nil {
			return fmt.Errorf("resume: %w", err)
		}
		return Run(ctx, c, s, detach)
	})
	return cmd
}

// recordPath returns the directory of a run of this host that is named as every command takes it: by its name, its
// number, its id, its workflow id, or the beginning of either. It returns any other word unchanged.
func recordPath(ctx context.Context, c *factory.Factory, word string) (string, error) {
	name, named := run.ParseName(word)
	if number, ok := run.ParseNumber(word); ok {
		var err error
		if name, named, err = recordNumbered(ctx, c, number); err != nil {
			return "", err
		}
	}
	ids := []string{word}
	if id, ok := run.IDOf(word); ok {
		ids = append(ids, string(id))
	}
	if id, ok := rundir.RunNamed(c.RunsDir, name); named && ok {
		ids = []string{string(id)}
	}
	for _, text := range ids {
		id := run.ID(text)
		if dir, err := c.OpenRecord(id); id.Validate() == nil && err == nil {
			return dir.Path(), nil
		}
	}
	if _, err := os.Lstat(word); err == nil {
		return word, nil
	}
	return recordBeginning(c, word, ids)
}

// recordNumbered returns the name of the run with the number that has a record on this host: under the label of the
// repository around the working directory, else under the only label that has one.
func recordNumbered(ctx context.Context, c *factory.Factory, number int) (run.Name, bool, error) {
	names := slices.DeleteFunc(rundir.NamesNumbered(c.RunsDir, number), func(name run.Name) bool {
		id, _ := rundir.RunNamed(c.RunsDir, name)
		_, err := c.OpenRecord(id)
		return err != nil
	})
	if here := run.NewName(factory.HereLabel(ctx), number); slices.Contains(names, here) {
		return here, true, nil
	}
	switch len(names) {
	case 0:
		return "", false, nil
	case 1:
		return names[0], true, nil
	}
	var texts []string
	for _, name := range names {
		texts = append(texts, string(name))
	}
	slices.Sort(texts)
	return "", false, fmt.Errorf("%d runs have the number %d: say which, %s", len(names), number, strings.Join(texts, " or "))
}

// recordBeginning returns the directory of the only run of this host whose id begins with one of the stems. It returns
// the word unchanged if there is none.
func recordBeginning(c *factory.Factory, word string, stems []string) (string, error) {
	id, err := runs.CompleteID("run", word, stems, func(run.ID) ([]run.ID, error) { return rundir.IDs(c.RunsDir) })
	if id == "" || err != nil {
		return word, err
	}
	return filepath.Join(c.RunsDir, "workflows", string(id)), nil
}

// Rebuild folds the events in a run's directory. Unless a runs directory was chosen, it makes
// the one around the run's directory the runs directory of this command.
func Rebuild(ctx context.Context, c *factory.Factory, path string, chosen bool) (*run.Snapshot, error) {
	dir, err := rundir.At(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: name a run of %s, or the directory of a run", path, c.RunsDir)
	}
	if err != nil {
		return nil, err
	}
	around := filepath.Dir(dir.Path())
	placed := chosen || filepath.Base(around) == "workflows"
	if !chosen && !samePath(c.RunsDir, filepath.Dir(around)) {
		c.RunsDir = console.NearPath(filepath.Dir(around))
	}
	if placed {
		if err := rundir.Check(ctx, c.RunsDir); err != nil {
			return nil, err
		}
	}
	s, err := dir.Repair()
	if err != nil {
		return nil, err
	}
	if err := mayResume(s); err != nil {
		return nil, err
	}
	id := s.Input.RunID
	if own, err := c.OpenRecord(id); err != nil || !placed || !samePath(own.Path(), dir.Path()) {
		return nil, fmt.Errorf("%s is not the directory of run %s in the runs directory %s: move it to workflows/%s there, or name its own runs directory with --runs-dir",
			dir.Path(), id, c.RunsDir, id)
	}
	return s, nil
}

// mayResume refuses a run that is over.
func mayResume(s *run.Snapshot) error {
	if s.State.Status.Terminal() {
		return fmt.Errorf("run %s is over, it is %s: there is nothing to resume", s.Input.RunID, s.State.Status)
	}
	return nil
}

func samePath(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// Run continues the run from its record as it stands once the engine has no open workflow of the
// run. The snapshot s may be older: a run that has ended since is not resumed.
func Run(ctx context.Context, c *factory.Factory, s *run.Snapshot, detach bool) error {
	id := s.Input.RunID
	client, closeClient, err := c.Dial(ctx)
	if err != nil {
		return err
	}
	defer closeClient()
	if err = client.MayResume(ctx, id); err == nil {
		s, err = rebuildRun(c, id)
	}
	if err == nil {
		err = client.Resume(ctx, s)
	}
	if _, open := errors.AsType[*runs.ExistsError](err); open {
		return fmt.Errorf("run %s is still open and continues by itself: follow it with `%s`", s.Input.Name.Shown(id), c.Hint("watch %s", s.Input.Name.Shown(id)))
	}
	if err != nil {
		return err
	}
	return follow.Started(ctx, c, runref.Found{Client: client, ID: id, Name: s.Input.Name}, detach, false)
}

// rebuildRun rebuilds a run from its record, and refuses one that is over.
func rebuildRun(c *factory.Factory, id run.ID) (*run.Snapshot, error) {
	dir, err := c.OpenRecord(id)
	if err != nil {
		return nil, err
	}
	s, err := dir.Repair()
	if err != nil {
		return nil, err
	}
	return s, mayResume(s)
}
