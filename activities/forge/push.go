package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// place is where a run's branch goes, and a repository to push from that has none of the user's configuration: a setting
// there could lead the token to another server.
type place struct {
	repo   forge.Repo
	client *forge.Client
	shadow git.Repo
	remote remote.Remote
	branch string // that the user's repository has checked out; empty: none
	close  func()
}

func (a *Activities) locate(ctx context.Context, r recorded, in Target) (place, error) {
	dir, err := remote.Mirrors{Dir: rundir.Mirrors(a.config.RunsDir)}.Have(ctx, r.snapshot.Input.Repository, r.snapshot.Input.BranchName(), r.snapshot.Head)
	if err != nil {
		return place{}, err
	}
	return a.locateAt(ctx, dir, in.Remote, r.snapshot.Head)
}

// locateAt is locate for a commit of a repository. An empty name means the remote origin.
func (a *Activities) locateAt(ctx context.Context, dir, name string, head run.Commit) (p place, err error) {
	source := git.Repo{Dir: dir}
	name = cmp.Or(name, "origin")
	out, err := source.Run(ctx, "config", "--get", "remote."+name+".url")
	if git.ExitCode(err) == 1 {
		return p, refusedf("the repository has no remote %s: add it, or name another with --remote", name)
	}
	if err != nil {
		return p, err
	}
	if p.repo, err = forge.ParseRemote(strings.TrimSpace(string(out))); err != nil {
		return p, refusedf("the remote %s of the repository: %v", name, err)
	}
	if p.client, err = a.clientOf(p.repo); err != nil {
		return p, err
	}
	if out, err := source.Run(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil {
		p.branch = strings.TrimSpace(string(out))
	}
	common, err := source.Run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return p, err
	}
	temp, err := os.MkdirTemp("", "ratchet-push-")
	if err != nil {
		return p, err
	}
	p.close = func() { os.RemoveAll(temp) }
	if p.shadow, err = git.Shadow(filepath.Join(temp, "git"), strings.TrimSpace(string(common)), temp, git.ID(head)); err != nil {
		p.close()
		return p, err
	}
	user, password, err := p.client.Credentials(ctx)
	if err != nil {
		p.close()
		return p, err
	}
	p.remote = remote.Remote{URL: p.client.PushURL(), User: user, Password: password, CA: p.client.CA()}
	return p, nil
}

func (p place) push(ctx context.Context, r recorded, in Target) (Pushed, error) {
	head := r.snapshot.Head
	out := Pushed{Repository: p.repo, Branch: cmp.Or(in.Branch, r.snapshot.Input.BranchName()), Head: head}
	there, base, err := p.branches(ctx, out.Branch, in.Base)
	if err != nil {
		return out, err
	}
	if out.Base = base; base == out.Branch {
		return out, refusedf("branch %s cannot be merged into itself", out.Branch)
	}
	if out.Unpushed, err = p.countUnpushed(ctx, there[out.Base], r.snapshot.Input.FirstBase()); err != nil {
		return out, err
	}
	stands := there[out.Branch]
	switch {
	case stands == string(head):
		out.Unchanged = true
		return out, nil
	case stands != "" && !p.isAncestor(ctx, stands, string(head)):
		return out, movedError(p.repo, out.Branch, stands)
	}
	if err := p.remote.Push(ctx, p.shadow, out.Branch, string(head), stands); errors.Is(err, remote.ErrMoved) {
		return out, movedError(p.repo, out.Branch, "")
	} else if err != nil {
		return out, pushError(p.repo, err)
	}
	return out, nil
}

// branches returns the server's branches that a push of branch concerns, and the one to merge into: base, or, where that is
// empty, the default of Target.Base.
func (p place) branches(ctx context.Context, branch, base string) (there map[string]string, into string, err error) {
	info, err := p.client.Info(ctx)
	switch {
	case err != nil:
		return nil, "", err
	case info.Archived:
		return nil, "", refusedf("%s is archived: nothing can be pushed to it", p.repo)
	case !info.MayPush:
		return nil, "", refusedf("the worker's token may not push to %s: give it write permission for contents and pull requests", p.repo)
	}
	there, err = p.remote.Branches(ctx, p.shadow, slices.Compact([]string{branch, info.DefaultBranch, base, p.branch})...)
	switch {
	case err != nil:
		return nil, "", err
	case base != "" && there[base] == "":
		return nil, "", refusedf("%s has no branch %s to merge into", p.repo, base)
	case base != "":
		return there, base, nil
	case p.branch != "" && p.branch != branch && there[p.branch] != "":
		return there, p.branch, nil
	}
	return there, info.DefaultBranch, nil
}

func movedError(r forge.Repo, branch, stands string) error {
	at := ""
	if stands != "" {
		at = fmt.Sprintf(" (it is at %.12s)", stands)
	}
	return refusedf("branch %s of %s has commits of others%s, which are not overwritten: merge them by hand, or delete the branch there", branch, r, at)
}

// pushError distinguishes a refusal of the server, which no retry fixes, from a failure on the way.
func pushError(r forge.Repo, err error) error {
	failed, ok := errors.AsType[*git.Error](err)
	if !ok {
		return err
	}
	switch text := failed.Stderr; {
	case strings.Contains(text, "`workflow` scope"), strings.Contains(text, "workflows` permission"):
		return refusedf("%s does not let this token change .github/workflows: give the token the permission for workflows", r)
	case strings.Contains(text, "Authentication failed"), strings.Contains(text, "terminal prompts disabled"), strings.Contains(text, "error: 403"):
		return refusedf("%s refuses the worker's token: give it write permission for contents", r)
	case strings.Contains(text, "[remote rejected]"), strings.Contains(text, "protected branch"), strings.Contains(text, "pre-receive hook declined"):
		return refusedf("%s refuses the branch: %s", r, strings.Join(strings.Fields(text), " "))
	}
	return err
}

func (p place) isAncestor(ctx context.Context, commit, of string) bool {
	_, err := p.shadow.Run(ctx, "merge-base", "--is-ancestor", commit, of)
	return err == nil
}

// countUnpushed returns how many commits below base the server's branch does not have. Zero where the commit of the
// server is not known here, and is therefore ahead.
func (p place) countUnpushed(ctx context.Context, server string, base run.Commit) (n int, err error) {
	if server == "" {
		return 0, nil
	}
	if _, err := p.shadow.Run(ctx, "cat-file", "-e", server+"^{commit}"); err != nil {
		return 0, nil
	}
	out, err := p.shadow.Run(ctx, "rev-list", "--count", string(base), "^"+server)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(out), &n)
	return n, err
}
