package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// MirrorInput names a commit of a repository on a server.
type MirrorInput struct {
	URL  string `json:"url"`            // as run.ParseURL returns it
	Base string `json:"base,omitempty"` // a branch, a tag or a whole id; empty: the last commit of the default branch
}

// MirrorResult says where the commit is on the worker's host.
type MirrorResult struct {
	Path   string     `json:"path"` // of the mirror
	Commit run.Commit `json:"commit"`
}

// Mirror fetches the commit into this host's mirror of the repository, and refuses a repository that the worker may not
// push to. A second call fetches what is new. What a killed one has left half done is made again.
func (a *Activities) Mirror(ctx context.Context, in MirrorInput) (MirrorResult, error) {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "fetches " + display.Line(in.URL)})
	defer stop()
	base, err := a.mirrors.Fetch(ctx, in.URL, in.Base)
	if err == nil {
		err = remote.Remote{URL: in.URL}.MayPush(ctx, git.Repo{Dir: base.Path, GitDir: base.Path}, "ratchet/permission", string(base.Commit))
	}
	return MirrorResult{Path: base.Path, Commit: base.Commit}, a.remoteError(err)
}

// publish brings the run's branch, which is at head, to the server of a URL. It never moves a branch there that has other
// commits. A second call finds the branch at head. A local repository has no server.
func (a *Activities) publish(ctx context.Context, r run.Repository, branch string, head run.Commit) error {
	if r.URL == "" {
		return nil
	}
	if r.Path != a.mirrors.Path(r.URL) {
		return a.remoteError(&remote.Error{URL: r.URL, Final: true, Text: fmt.Sprintf("%s is not its mirror in the worker's runs directory, so nothing is pushed from there", display.Line(r.Path))})
	}
	m, repo := remote.Remote{URL: r.URL}, git.Repo{Dir: r.Path, GitDir: r.Path}
	at, err := m.Branches(ctx, repo, branch)
	stands := at[branch]
	if err != nil || stands == string(head) {
		return a.remoteError(err)
	}
	if stands != "" {
		if _, err := repo.Run(ctx, "merge-base", "--is-ancestor", stands, string(head)); err != nil {
			return a.remoteError(foreignBranch(r.URL, branch, stands))
		}
	}
	failpoint.Hit("mirror.before-push")
	err = m.Push(ctx, repo, branch, string(head), stands)
	if errors.Is(err, remote.ErrMoved) {
		err = foreignBranch(r.URL, branch, "another commit")
	}
	failpoint.Hit("mirror.pushed")
	return a.remoteError(err)
}

func foreignBranch(url, branch, at string) error {
	return &remote.Error{URL: url, Final: true, Text: fmt.Sprintf("branch %s there is at %.14s, which is not the run's and stays: rename or delete that branch", branch, at)}
}

// remoteError returns the error of a server as Temporal keeps it: without secrets, and of the type RepositoryError if no
// retry mends it.
func (a *Activities) remoteError(err error) error {
	failed, ok := errors.AsType[*remote.Error](err)
	if !ok {
		return err
	}
	text := a.redact.String(failed.Error())
	if failed.Final {
		return temporal.NewNonRetryableApplicationError(text, RepositoryError, nil)
	}
	return errors.New(text)
}
