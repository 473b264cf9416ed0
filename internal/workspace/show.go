package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
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

// shortStat matches what git writes of a diff: nothing if it is empty, and no count of lines that is zero.
var shortStat = regexp.MustCompile(`^(?: (\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?\n)?$`)

// DiffStat counts the files and lines of a Diff. A binary file has no lines.
func (w *Workspace) DiffStat(ctx context.Context, from, to run.Commit) (run.Stat, error) {
	var out []byte
	args, err := w.diffArgs(from, to, "--shortstat")
	if err == nil {
		out, err = w.repo.Run(ctx, args...)
	}
	counts := shortStat.FindStringSubmatch(string(out))
	if err == nil && counts == nil {
		err = fmt.Errorf("unexpected line %q", out)
	}
	if err != nil {
		return run.Stat{}, fmt.Errorf("diff %s to %s: %w", from, to, err)
	}
	files, _ := strconv.Atoi(counts[1]) // digits, or nothing
	added, _ := strconv.Atoi(counts[2])
	deleted, _ := strconv.Atoi(counts[3])
	return run.Stat{Files: files, Added: added, Deleted: deleted}, nil
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
