package scratch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// stage is a directory of ours with copies of files of the tree: the changed files, and the files
// that tell git how to read them. It is the only work tree that git sees during the search for
// changes. No file of the agent can therefore block git or mislead it.
type stage struct {
	root *os.Root
	repo git.Repo
}

// makeStage makes the stage again.
func (s *Scratch) makeStage(held *os.File) (*stage, error) {
	dir, shadow := s.pathOf(stageName), s.pathOf(shadowName)
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return nil, err
	}
	index := s.pathOf(shadowName, "changes")
	if err := errors.Join(os.RemoveAll(index+".lock"), git.CopyIndex(index, s.pathOf(shadowName, "index"))); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &stage{root, git.Repo{
		Dir: dir, GitDir: shadow, WorkTree: dir, Index: index, Objects: s.pathOf(shadowName, "objects"), Keep: held,
	}}, nil
}

func (g *stage) close() error {
	return errors.Join(g.root.Close(), os.RemoveAll(g.repo.WorkTree))
}

func (g *stage) write(name string, executable bool, content io.Reader) error {
	if err := g.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	perm := os.FileMode(0o644)
	if executable {
		perm = 0o755
	}
	f, err := g.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(perm), f.Close())
}

// runGit runs git with paths as its input, each ended by a NUL.
func (g *stage) runGit(ctx context.Context, paths []string, args ...string) ([]byte, error) {
	var in, out bytes.Buffer
	for _, p := range paths {
		in.WriteString(p)
		in.WriteByte(0)
	}
	err := g.repo.Do(ctx, git.Command{Args: args, Stdin: &in, Stdout: &out})
	return out.Bytes(), err
}

// ignoreTimeout bounds the look for ignored names: "**" in a pattern can take git exponential time.
var ignoreTimeout = time.Minute

// errPatterns reports that git did not come to an end with the patterns of a .gitignore.
var errPatterns = errors.New("git does not finish reading the patterns of a .gitignore")

// here before a path keeps git from reading magic into a colon. git check-ignore needs it, because
// that one command refuses to take paths literally.
const here = "./"

// dropIgnored returns the items that are not ignored, or errPatterns. The files with the rules are on the stage already.
func (g *stage) dropIgnored(ctx context.Context, items []item) ([]item, error) {
	if len(items) == 0 {
		return nil, nil
	}
	paths := make([]string, len(items))
	for i, it := range items {
		paths[i] = here + it.path
		if !it.isDir() {
			continue
		}
		if err := g.root.MkdirAll(it.path, 0o755); err != nil { // some patterns match directories only
			return nil, err
		}
	}
	asked := *g
	asked.repo.Timeout = ignoreTimeout
	out, err := asked.runGit(ctx, paths, "--no-literal-pathspecs", "check-ignore", "-z", "--stdin", "--no-index")
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, errPatterns
	}
	if err != nil && git.ExitCode(err) != 1 { // 1: none is
		return nil, err
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		ignored[strings.TrimPrefix(name, here)] = true
	}
	return slices.DeleteFunc(items, func(it item) bool { return ignored[it.path] }), nil
}

// record is one line of git's raw diff.
type record struct {
	status      byte // A, D, M or R
	before      git.ID
	after       git.ID
	oldMode     git.Mode
	newMode     git.Mode
	path        string
	renamedFrom string // empty when it is no rename
}

// diffFromCommit compares the files on the stage with the commit through git: as git would store them, with
// line ends and encodings according to its attributes.
func (g *stage) diffFromCommit(ctx context.Context, commit git.ID, gone, there []string) ([]record, error) {
	// Deleted files come first: a deleted file of attributes must not count.
	if _, err := g.runGit(ctx, slices.Concat(gone, there), "update-index", "-z", "--add", "--remove", "--stdin"); err != nil {
		return nil, err
	}
	out, err := g.runGit(ctx, nil, "diff-index", "--cached", "--raw", "--no-abbrev", "-M", "-z", string(commit))
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// parseRaw parses the raw output format of git-diff-index(1), with -z.
func parseRaw(out []byte) ([]record, error) {
	var records []record
	fields := strings.Split(string(out), "\x00")
	for fields = fields[:len(fields)-1]; len(fields) > 0; {
		var r record
		var status string
		_, err := fmt.Sscanf(fields[0], ":%o %o %s %s %s", &r.oldMode, &r.newMode, &r.before, &r.after, &status)
		n := 2
		if err == nil && status[0] == 'R' {
			n = 3
		}
		if err != nil || len(fields) < n {
			return nil, fmt.Errorf("git diff-index: unexpected line %q", fields[0])
		}
		r.status, r.path = status[0], fields[n-1]
		if n == 3 {
			r.renamedFrom = fields[1]
		}
		records, fields = append(records, r), fields[n:]
	}
	return records, nil
}
