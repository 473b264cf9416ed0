package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// File is one regular file of a commit.
type File struct {
	Path string // relative to Prefix
	Size int64
}

// Files lists the regular files of commit below Prefix in git's order. It leaves out symbolic links
// and submodules.
func (w *Workspace) Files(ctx context.Context, commit run.Commit) ([]File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed.commit != commit {
		files, err := w.listFiles(ctx, commit)
		if err != nil {
			return nil, err
		}
		w.listed = listing{commit, files}
	}
	return slices.Clone(w.listed.files), nil
}

// listing holds the last result of Files, because one commit is often asked for twice.
type listing struct {
	commit run.Commit
	files  []File
}

func (w *Workspace) listFiles(ctx context.Context, commit run.Commit) ([]File, error) {
	at, err := newStore(w.objects).findEntry(ctx, commit, w.spec.Prefix, ".")
	if err != nil {
		return nil, fmt.Errorf("list files of %s: %w", commit, err)
	}
	var files []File
	err = w.eachRecord(ctx, func(record string) error {
		meta, name, _ := strings.Cut(record, "\t")
		fields := strings.Fields(meta) // mode, kind, id, size
		if len(fields) != 4 {
			return fmt.Errorf("unexpected line %q", record)
		}
		mode, err1 := strconv.ParseUint(fields[0], 8, 32)
		if m := git.Mode(mode); err1 == nil && !m.Regular() {
			return nil
		}
		if fields[3] == "BAD" { // git's word for a size that it cannot know
			return fmt.Errorf("%s: object %s: %w", name, fields[2], git.ErrObject)
		}
		size, err2 := strconv.ParseInt(fields[3], 10, 64)
		files = append(files, File{Path: name, Size: size})
		return errors.Join(err1, err2)
	}, "ls-tree", "-r", "-l", "-z", string(at.ID))
	if err != nil {
		return nil, fmt.Errorf("list files of %s: %w", commit, err)
	}
	return files, nil
}

// Read returns the first limit bytes of a file of commit, and the size of the whole file. It
// returns the errors of [patch.Tree]'s Lookup, without the limit of Lookup.
func (w *Workspace) Read(ctx context.Context, commit run.Commit, name string, limit int64) ([]byte, int64, error) {
	e, err := newStore(w.objects).findEntry(ctx, commit, w.spec.Prefix, name)
	if err == nil && !e.Mode.Regular() {
		err = &patch.EntryError{Path: name, Entry: entryKind(e.Mode)}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s of %s: %w", name, commit, err)
	}
	o, err := w.objects.Read(ctx, e.ID, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s of %s: %w", name, commit, err)
	}
	return o.Content, o.Size, nil
}

// Diff writes the unified diff between two commits, with paths relative to Prefix. An error of out
// ends the diff: a bounded out bounds the diff.
func (w *Workspace) Diff(ctx context.Context, from, to run.Commit, out io.Writer) error {
	args, err := w.diffArgs(from, to, "-p", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
	if err == nil {
		err = w.repo.Do(ctx, git.Command{Args: args, Stdout: out})
	}
	if err != nil {
		return fmt.Errorf("diff %s to %s: %w", from, to, err)
	}
	return nil
}

// FileStat counts the lines of one file that a diff changes.
type FileStat struct {
	Path    string `json:"path"`
	OldPath string `json:"oldPath,omitempty"` // of a renamed file
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"` // lines are not counted
}

// DiffStat counts the changes of a Diff, file by file.
func (w *Workspace) DiffStat(ctx context.Context, from, to run.Commit) ([]FileStat, error) {
	args, err := w.diffArgs(from, to, "--numstat", "-z")
	var stats []FileStat
	if err == nil {
		stats, err = w.diffStats(ctx, args)
	}
	if err != nil {
		return nil, fmt.Errorf("diff %s to %s: %w", from, to, err)
	}
	return stats, nil
}

// diffStats reads lines of "added TAB deleted TAB path". The line of a rename has an empty path, and
// its two paths follow.
func (w *Workspace) diffStats(ctx context.Context, args []string) ([]FileStat, error) {
	var stats []FileStat
	var names []string // paths read so far for the last entry, a rename
	err := w.eachRecord(ctx, func(record string) error {
		if len(names) < 2 && names != nil {
			if names = append(names, record); len(names) == 2 {
				stats[len(stats)-1].OldPath, stats[len(stats)-1].Path, names = names[0], names[1], nil
			}
			return nil
		}
		fields := strings.SplitN(record, "\t", 3)
		if len(fields) != 3 {
			return fmt.Errorf("unexpected line %q", record)
		}
		s := FileStat{Path: fields[2], Binary: fields[0] == "-"}
		if !s.Binary {
			var err1, err2 error
			s.Added, err1 = strconv.Atoi(fields[0])
			s.Deleted, err2 = strconv.Atoi(fields[1])
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
		}
		if s.Path == "" {
			names = []string{}
		}
		stats = append(stats, s)
		return nil
	}, args...)
	return stats, err
}

// diffArgs returns the arguments of a diff that depends on the two commits alone. The diff runs no
// program of the user's configuration.
func (w *Workspace) diffArgs(from, to run.Commit, form ...string) ([]string, error) {
	for _, c := range []run.Commit{from, to} {
		if !git.ID(c).Valid() {
			return nil, fmt.Errorf("commit %q: not a full commit id", string(c))
		}
	}
	args := append([]string{"diff-tree", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv"}, form...)
	if w.spec.Prefix != "" {
		args = append(args, "--relative="+w.spec.Prefix+"/")
	}
	return append(args, string(from), string(to)), nil
}

// eachRecord runs git and passes each NUL-terminated part of its output to take as it arrives.
func (w *Workspace) eachRecord(ctx context.Context, take func(string) error, args ...string) error {
	r, pipe := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := w.repo.Do(ctx, git.Command{Args: args, Stdout: pipe})
		pipe.CloseWithError(err)
		done <- err
	}()
	err := scanRecords(r, take)
	r.CloseWithError(err) // ends a git that still writes
	if ended := <-done; err == nil {
		err = ended
	}
	return err
}

func scanRecords(r io.Reader, take func(string) error) error {
	lines := bufio.NewReader(r)
	for {
		record, err := lines.ReadString(0)
		if err == io.EOF && record == "" {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(record[:len(record)-1]); err != nil {
			return err
		}
	}
}
