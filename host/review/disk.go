package review

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Disk is the Record of a runs directory, and of the repositories on this host.
type Disk struct {
	dir string

	mu       sync.Mutex
	branches map[run.ID]branch  // of the records that were read
	landed   map[string]*landed // by the path of the repository
	merged   map[run.ID]bool    // the runs that were seen merged, also by other processes; nil: not read yet
}

// branch is where a run keeps its commits.
type branch struct{ repository, name string }

// landed is what the branches of a repository hold while they stand as they did.
type landed struct {
	heads string
	done  chan struct{} // closed when the others are set
	found merge.Landed
	err   error
}

// NewDisk returns the record of a runs directory.
func NewDisk(runsDir string) *Disk {
	return &Disk{dir: filepath.Join(runsDir, "workflows"), branches: map[run.ID]branch{}, landed: map[string]*landed{}}
}

func (d *Disk) open(id run.ID) (*rundir.Dir, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	return rundir.OfRun(filepath.Dir(d.dir), id)
}

// Load returns an artifact by its reference, whose digest it has.
func (d *Disk) Load(id run.ID, ref run.Ref) ([]byte, error) {
	dir, err := d.open(id)
	if err != nil {
		return nil, err
	}
	return dir.Load(ref)
}

// Usage returns what the record says that a run has used.
func (d *Disk) Usage(id run.ID) (u run.Usage) {
	if dir, err := d.open(id); err == nil {
		facts, _ := dir.Facts()
		u = facts.Usage
	}
	return u
}

// gitPatience bounds the wait for git.
const gitPatience = 10 * time.Second

// Diff returns what the commits of a run change.
func (d *Disk) Diff(ctx context.Context, f rundir.Facts) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	dir, err := remote.Mirrors{Dir: rundir.Mirrors(filepath.Dir(d.dir))}.Have(ctx, f.Repository, f.Branch, f.Head)
	if err != nil {
		return nil, err
	}
	return git.Repo{Dir: dir}.Run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", string(f.Repository.Base), string(f.Head), "--")
}

// Standing returns where the commits of a run are.
func (d *Disk) Standing(ctx context.Context, f rundir.Facts) (merge.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	l, err := d.landedAt(ctx, f.Repository.Path)
	if err != nil {
		return merge.Standing{}, err
	}
	return l.Standing(ctx, f.RunID)
}

// mergedPatience bounds the look into the repositories of a list.
const mergedPatience = 2 * time.Second

// MarkMerged marks the completed runs whose commits a branch of the user's has. Of a repository that does not answer soon
// it marks the runs that were seen merged before, and the others as unsure. A run without a record here is not marked: its
// own branch, which may have any name, has the commits, too.
func (d *Disk) MarkMerged(ctx context.Context, list []runs.Listed) {
	ctx, cancel := context.WithTimeout(ctx, mergedPatience)
	defer cancel()
	type look struct {
		merge.Landed
		err error
	}
	looks := map[string]look{}
	var seen []run.ID
	for i, l := range list {
		if l.Status != run.Completed || l.Repository == "" {
			continue
		}
		found, looked := looks[l.Repository]
		if !looked {
			found.Landed, found.err = d.landedAt(ctx, l.Repository)
			looks[l.Repository] = found
		}
		switch {
		case found.err == nil:
			list[i].Merged, list[i].Undone = found.Runs[l.ID] && d.has(l.ID), found.Undone[l.ID] != "" && d.has(l.ID)
		case ctx.Err() != nil:
			list[i].Merged = d.wasMerged(l.ID)
			list[i].Unsure = !list[i].Merged
		}
		if list[i].Merged {
			seen = append(seen, l.ID)
		}
	}
	d.noteMerged(seen)
}

// mergedFile is the name of the file in the runs directory that lists the runs that were seen merged.
const mergedFile = "merged.json"

func (d *Disk) mergedPath() string { return filepath.Join(filepath.Dir(d.dir), mergedFile) }

// readMerged reads the file, once. It holds the lock.
func (d *Disk) readMerged() {
	if d.merged != nil {
		return
	}
	d.merged = map[run.ID]bool{}
	var ids []run.ID
	if b, err := file.Read(d.mergedPath(), maxMerged); err == nil && json.Unmarshal(b, &ids) == nil {
		for _, id := range ids {
			d.merged[id] = true
		}
	}
}

// maxMerged bounds the file, in bytes. A longer one begins anew.
const maxMerged = 1 << 20

func (d *Disk) wasMerged(id run.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readMerged()
	return d.merged[id]
}

// noteMerged keeps that runs were seen merged. What cannot be written is looked up again.
func (d *Disk) noteMerged(ids []run.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readMerged()
	before := len(d.merged)
	for _, id := range ids {
		d.merged[id] = true
	}
	if len(d.merged) == before {
		return
	}
	if b, err := json.Marshal(slices.Sorted(maps.Keys(d.merged))); err == nil && len(b) <= maxMerged {
		_ = file.Replace(d.mergedPath(), b)
	}
}

func (d *Disk) has(id run.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.branches[id]
	return ok
}

// lookPatience bounds one look into a repository, which all who ask meanwhile wait for as long as they like.
const lookPatience = time.Minute

// landedAt looks into a repository, unless its branches are where they were.
func (d *Disk) landedAt(ctx context.Context, repository string) (merge.Landed, error) {
	heads, err := git.Repo{Dir: repository}.Run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")
	if err != nil {
		return merge.Landed{}, err
	}
	l, err := d.lookAt(repository, string(heads))
	if err != nil {
		return merge.Landed{}, err
	}
	select {
	case <-l.done:
		return l.found, l.err
	case <-ctx.Done():
		return merge.Landed{}, ctx.Err()
	}
}

// lookAt returns the look into a repository whose branches stand so. It begins one if there is none.
func (d *Disk) lookAt(repository, heads string) (*landed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own, err := d.readBranches(repository)
	if err != nil {
		return nil, err
	}
	if last := d.landed[repository]; last != nil && last.heads == heads {
		return last, nil
	}
	l := &landed{heads: heads, done: make(chan struct{})}
	d.landed[repository] = l
	go func() {
		defer close(l.done)
		ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
		defer cancel()
		if l.found, l.err = merge.FindLanded(ctx, repository, own); l.err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.landed[repository] == l {
				delete(d.landed, repository) // the next who asks looks again
			}
		}
	}()
	return l, nil
}

// readBranches returns the branches of the runs of a repository. It reads the records that are new.
func (d *Disk) readBranches(repository string) (names []string, err error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		id := run.ID(entry.Name())
		b, known := d.branches[id]
		if !known {
			dir, err := d.open(id)
			if err != nil {
				continue
			}
			facts, err := dir.Facts()
			if err != nil {
				continue
			}
			b = branch{facts.Repository.Path, facts.Branch}
			d.branches[id] = b
		}
		if b.repository == repository {
			names = append(names, b.name)
		}
	}
	return names, nil
}
