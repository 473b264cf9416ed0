package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Mirrors are bare repositories of this host, one for each URL. They hold the commits that runs begin at and the branches
// of the runs. Nothing prunes them: work trees borrow their objects.
type Mirrors struct{ Dir string }

// Path returns the path of the mirror of a URL.
func (s Mirrors) Path(url string) string {
	return filepath.Join(s.Dir, fmt.Sprintf("%.16x.git", sha256.Sum256([]byte(url))))
}

// Base is a commit in a mirror.
type Base struct {
	Path   string // of the mirror
	Commit run.Commit
}

// Fetch brings the commit that a name means on the server into the mirror of the URL: a branch, a tag, a whole id, or
// HEAD, which an empty name means, too. A second call fetches what is new. After a kill it continues with what is whole.
func (s Mirrors) Fetch(ctx context.Context, url, name string) (Base, error) {
	var err error
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return Base{}, err
	}
	m, path := Remote{URL: url}, s.Path(url)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Base{}, err
	}
	held, err := git.Lock(ctx, path+".lock")
	if err != nil {
		return Base{}, err
	}
	defer held.Close()
	repo := git.Repo{Dir: s.Dir, GitDir: path, Keep: held}
	from, id, head, err := m.find(ctx, repo, name)
	if err != nil {
		return Base{}, err
	}
	if err := makeMirror(ctx, repo, url, id); err != nil {
		return Base{}, m.explain(err)
	}
	if head != "" { // the branch that `starter pr` merges into
		if _, err := repo.Run(ctx, "symbolic-ref", "HEAD", head); err != nil {
			return Base{}, err
		}
	}
	to := fmt.Sprintf("refs/fetched/%.16x", sha256.Sum256([]byte(from))) // no name is another's directory
	if err := m.fetch(ctx, repo, from, to, id); err != nil {
		return Base{}, err
	}
	failpoint.Hit("mirror.fetched")
	out, err := repo.Run(ctx, "rev-parse", "--verify", "-q", to+"^{commit}")
	if git.ExitCode(err) > 0 {
		return Base{}, &Error{URL: url, Final: true, Text: fmt.Sprintf("%q is not a commit: name a branch or a tag of one", display.Line(name))}
	}
	return Base{Path: path, Commit: run.Commit(strings.TrimSpace(string(out)))}, err
}

// Have returns the path of a run's repository on this host: of the mirror if it has a URL. Another host may have made the
// commit, so the branch is fetched unless the mirror has it.
func (s Mirrors) Have(ctx context.Context, r run.Repository, branch string, commit run.Commit) (path string, err error) {
	if r.URL == "" {
		return r.Path, nil
	}
	path = s.Path(r.URL)
	if _, err := os.Stat(path); err == nil {
		if _, err := (git.Repo{Dir: path}).Run(ctx, "cat-file", "-e", string(commit)+"^{commit}"); err == nil {
			return path, nil
		}
	}
	_, err = s.Fetch(ctx, r.URL, "refs/heads/"+branch)
	return path, err
}

// refName matches what can be the name of a branch or tag.
var refName = regexp.MustCompile(`^[\pL\pN_@+=.,#%/-]{1,200}$`)

// find returns the reference or id of the server that a name means, its object, and the server's HEAD.
func (m Remote) find(ctx context.Context, r git.Repo, name string) (from, id, head string, err error) {
	missing := &Error{URL: m.URL, Final: true, Text: fmt.Sprintf("base %q is not there: name a branch, a tag or a whole commit id of it", display.Line(name))}
	if name == "HEAD" {
		name = ""
	}
	if strings.HasPrefix(name, "-") || name != "" && !refName.MatchString(name) {
		return "", "", "", missing
	}
	names := []string{"HEAD"}
	if name != "" {
		names = append(names, name, "refs/"+name, "refs/tags/"+name, "refs/heads/"+name) // git's own order
	}
	ids, head, err := m.advertised(ctx, r, names...)
	switch {
	case err != nil:
		return "", "", "", err
	case name == "" && (ids["HEAD"] == "" || head == ""):
		return "", "", "", &Error{URL: m.URL, Final: true, Text: "it has no commits, or no default branch: name a branch with --base"}
	case name == "":
		return head, ids["HEAD"], head, nil
	case git.ID(name).Valid():
		return name, name, head, nil
	}
	for _, ref := range names[1:] {
		if ids[ref] != "" && strings.HasPrefix(ref, "refs/") {
			return ref, ids[ref], head, nil
		}
	}
	return "", "", "", missing
}

// makeMirror makes the mirror unless it is there, with the format of the id like, and removes what a killed fetch has left.
func makeMirror(ctx context.Context, r git.Repo, url, like string) error {
	if _, err := os.Stat(r.GitDir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, sweep(r.GitDir))
	}
	half := r.GitDir + ".new"
	if err := git.RemoveTree(half); err != nil {
		return err
	}
	format := "sha1"
	if len(like) == 64 {
		format = "sha256"
	}
	made := git.Repo{Dir: r.Dir, Keep: r.Keep}
	if _, err := made.Run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format, half); err != nil {
		return err
	}
	made.GitDir = half
	if _, err := made.Run(ctx, "config", "remote.origin.url", url); err != nil {
		return err
	}
	failpoint.Hit("mirror.made")
	return os.Rename(half, r.GitDir)
}

// sweep removes the half packs and the locks that a killed fetch has left. No other fetch is under way.
func sweep(dir string) error {
	for _, pattern := range []string{"objects/pack/tmp_*", "refs/fetched/*.lock", "shallow.lock", "HEAD.lock"} {
		left, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range left {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetch brings a reference of the server, or a commit by its id, to the reference to, unless that is at the id already.
func (m Remote) fetch(ctx context.Context, r git.Repo, from, to, id string) error {
	if at, err := r.Run(ctx, "rev-parse", "--verify", "-q", to); err == nil && strings.TrimSpace(string(at)) == id {
		return nil
	}
	on, err := m.on(r)
	if err != nil {
		return err
	}
	on.Timeout = transferLimit
	args := append([]string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="}, m.served("upload-pack", "upload-pack")...)
	_, err = on.Run(ctx, append(args, "--", m.URL, "+"+from+":"+to)...)
	return m.explain(err)
}
