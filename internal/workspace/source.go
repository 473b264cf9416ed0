package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The reasons why a run cannot start from a directory. Each is wrapped in one line that says what
// to do.
var (
	ErrNotRepository = git.ErrNotRepository
	ErrNoCommits     = errors.New("no commits yet")
	ErrBase          = errors.New("no such commit")
	ErrDirty         = errors.New("changes are not committed")
	ErrBranchName    = errors.New("a branch has the name ratchet")
	ErrReftable      = errors.New("references are in reftables, which cannot be used: run git refs migrate --ref-format=files")
)

// Source describes the place that a run starts from.
type Source struct {
	Root   string     // top of the user's work tree; the git directory of a bare repository
	Prefix string     // the directory that was asked for, relative to Root; empty for Root itself
	Base   run.Commit // a full id
	Bare   bool       // the repository has no work tree
	URL    string     // what Root is the mirror of; empty: Root is the user's own
}

// Inspect finds the repository that contains dir and resolves base in it. An empty base means the
// last commit. Uncommitted changes of tracked files are an error then, because the run would not
// see them. Inspect changes nothing, including the user's index. It does not look into submodules.
func Inspect(ctx context.Context, dir, base string) (Source, error) {
	if _, err := git.Version(ctx); err != nil {
		return Source{}, err
	}
	at, err := locateRepository(ctx, git.Repo{Dir: dir})
	if err != nil {
		return Source{}, fmt.Errorf("repository %s: %w", dir, err)
	}
	src, err := at.source(ctx, base)
	if err != nil {
		return Source{}, fmt.Errorf("repository %s: %w", at.root, err)
	}
	return src, nil
}

// checkDir refuses a path that is not a directory: git's own error would say only that git cannot start there. The error
// does not name dir.
func checkDir(dir string) error {
	fi, err := os.Stat(dir)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: name another with --repo", err)
	case err == nil && !fi.IsDir():
		return errors.New("not a directory")
	}
	return err
}

// Root returns the top of the work tree that dir is in, or the git directory of a bare repository. Its errors do not
// name dir.
func Root(ctx context.Context, dir string) (string, error) {
	at, err := locateRepository(ctx, git.Repo{Dir: dir})
	return at.root, err
}

// place describes a repository as seen from a directory.
type place struct {
	repo   git.Repo
	gitDir string // of this work tree
	common string // shared by all work trees
	bare   bool
	root   string
	prefix string
}

// locateRepository finds the repository that contains r.Dir.
func locateRepository(ctx context.Context, r git.Repo) (place, error) {
	if err := checkDir(r.Dir); err != nil {
		return place{}, err
	}
	lines, err := revParse(ctx, r, 4, "--absolute-git-dir", "--git-common-dir", "--is-bare-repository", "--is-inside-work-tree")
	if errors.Is(err, git.ErrNotRepository) {
		return place{}, fmt.Errorf("%w: run git init and commit there, or name another with --repo", ErrNotRepository)
	}
	if err != nil {
		return place{}, err
	}
	p := place{repo: r, gitDir: lines[0], common: lines[1], bare: lines[2] == "true"}
	switch {
	case p.bare && p.gitDir != p.common && r.WorkTree == "": // git takes a linked work tree for bare, too
		r.GitDir = p.gitDir
		if r.WorkTree, err = git.LinkedTree(p.gitDir); err != nil {
			return place{}, err
		}
		return locateRepository(ctx, r)
	case p.bare:
		p.root = p.common
		return p, nil
	case lines[3] != "true":
		return place{}, errors.New("inside a git directory: name the work tree with --repo")
	}
	if lines, err = revParse(ctx, r, 2, "--show-toplevel", "--show-prefix"); err != nil {
		return place{}, err
	}
	p.root, p.prefix = filepath.FromSlash(lines[0]), strings.TrimSuffix(lines[1], "/")
	return p, nil
}

// revParse runs git rev-parse and returns its n lines.
func revParse(ctx context.Context, r git.Repo, n int, args ...string) ([]string, error) {
	out, err := r.Run(ctx, append([]string{"rev-parse", "--path-format=absolute"}, args...)...)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != n {
		return nil, fmt.Errorf("git rev-parse: %d lines, not %d: a path seems to contain a line feed", len(lines), n)
	}
	return lines, nil
}

// checkPrefix refuses a directory that the commit does not have: a run works in that directory of its branch.
func (p place) checkPrefix(ctx context.Context, commit run.Commit) error {
	if p.prefix == "" {
		return nil
	}
	kind, err := p.repo.Run(ctx, "cat-file", "-t", string(commit)+":"+p.prefix)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || strings.TrimSpace(string(kind)) != string(git.Tree) {
		return fmt.Errorf("directory %s is not in commit %.12s: commit something in it, or name another with --repo", p.prefix, commit)
	}
	return nil
}

func (p place) source(ctx context.Context, base string) (Source, error) {
	if err := refuseReftable(p.common); err != nil {
		return Source{}, err
	}
	head, err := p.resolveCommit(ctx, "HEAD")
	if errors.Is(err, ErrBase) && (base == "" || base == "HEAD") {
		return Source{}, fmt.Errorf("%w: commit something first", ErrNoCommits)
	}
	commit := head
	if base != "" {
		commit, err = p.resolveCommit(ctx, base)
	}
	if err != nil {
		return Source{}, err
	}
	if err := p.checkWhole(ctx, commit); err != nil {
		return Source{}, err
	}
	if err := p.checkPrefix(ctx, commit); err != nil {
		return Source{}, err
	}
	if base == "" && !p.bare {
		if err := p.checkClean(ctx, head); err != nil {
			return Source{}, err
		}
	}
	if out, err := p.repo.Run(ctx, "for-each-ref", "--count=1", "refs/heads/ratchet"); err != nil {
		return Source{}, err
	} else if strings.HasSuffix(strings.TrimSpace(string(out)), "\trefs/heads/ratchet") {
		return Source{}, fmt.Errorf("%w, so branches ratchet/... cannot be made: rename it", ErrBranchName)
	}
	return Source{Root: p.root, Prefix: p.prefix, Base: commit, Bare: p.bare}, nil
}

// resolveCommit turns a user's name for a commit into its id.
func (p place) resolveCommit(ctx context.Context, name string) (run.Commit, error) {
	missing := fmt.Errorf("base %q: %w: name a branch, a tag or a commit of this repository", name, ErrBase)
	if strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00\n") {
		return "", missing
	}
	out, err := p.repo.Run(ctx, "rev-parse", "--verify", "-q", name+"^{commit}")
	if git.ExitCode(err) > 0 {
		return "", missing
	}
	return run.Commit(strings.TrimSpace(string(out))), err
}

// checkClean compares the user's work tree with the last commit through a shadow: no filter of the
// user's runs, and their index stays as it is.
func (p place) checkClean(ctx context.Context, head run.Commit) error {
	rules, err := p.repo.FileRules(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ratchet-inspect-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	shadow, err := git.Shadow(dir, p.common, p.root, git.ID(head), rules...)
	if err != nil {
		return err
	}
	if err := borrowIndex(&shadow, p.gitDir); err != nil {
		return err
	}
	shadow.Timeout = checkoutTimeout
	out, err := shadow.Run(ctx, "status", "-z", "--porcelain=v1", "--untracked-files=no", "--ignore-submodules=all", "--no-renames")
	if err != nil || len(out) == 0 {
		return err
	}
	first, _, _ := strings.Cut(string(out), "\x00")
	return fmt.Errorf("%w (%s, first %q): commit or stash them, or use --base HEAD to run from the last commit without them",
		ErrDirty, display.Count(strings.Count(string(out), "\x00"), "file", "files"), strings.TrimSpace(first[min(3, len(first)):]))
}

// borrowIndex lets shadow read the index of gitDir. Git looks for the parts of a split index beside
// HEAD. borrowIndex copies them, because git touches the parts that it reads.
func borrowIndex(shadow *git.Repo, gitDir string) error {
	shadow.Index = filepath.Join(gitDir, "index")
	entries, err := os.ReadDir(gitDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "sharedindex.") {
			continue
		}
		part, err := os.ReadFile(filepath.Join(gitDir, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(shadow.GitDir, e.Name()), part, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
