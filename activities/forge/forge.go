// Package forge brings the branch of a run to the server that its team merges on: it pushes the branch, opens a pull
// request and sets the status of its commit. Each activity looks at the server before it acts, so that a repeated one
// does nothing twice. The tokens are the worker's: they stand in no input, no result and no error.
package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/pullrequest"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Config says which servers there are.
type Config struct {
	RunsDir string
	Servers []forge.Server
	// Link returns the address of a run on the review page; nil or empty: there is none.
	Link func(run.ID) string
	// Redact removes the worker's secrets from a text.
	Redact func(string) string
}

// Activities are the activities of pull requests.
type Activities struct{ config Config }

// New returns the activities.
func New(c Config) *Activities { return &Activities{c} }

// The types of errors that no retry mends.
const (
	NotConfiguredError = "ForgeNotConfigured" // the worker has no token for the server
	RefusedError       = "ForgeRefused"       // the server or the state of the repository forbids it
)

// Target names the run, and where its branch goes.
type Target struct {
	RunID run.ID `json:"runId"`
	// Remote is the name of the git remote of the run's repository; empty means origin.
	Remote string `json:"remote,omitempty"`
	// Base is the branch to merge into. Empty means the branch that the repository has checked out, if the server has it,
	// and the server's default branch otherwise.
	Base string `json:"base,omitempty"`
	// Title is the title of a new pull request; empty: the first line of the goal.
	Title string `json:"title,omitempty"`
	// Draft keeps the pull request of a completed run a draft.
	Draft bool `json:"draft,omitempty"`
}

// Pushed is the result of PushBranch.
type Pushed struct {
	Repository forge.Repo `json:"repository"`
	Branch     string     `json:"branch"`
	Base       string     `json:"base"`
	Head       run.Commit `json:"head"`
	Unchanged  bool       `json:"unchanged,omitempty"` // the server had it
	// Unpushed counts the commits below the run's base that the server's base branch does not have: the pull request
	// shows them, too.
	Unpushed int `json:"unpushed,omitempty"`
}

// Opened is the result of OpenPullRequest.
type Opened struct {
	Number  int    `json:"number"`
	URL     string `json:"url"`
	Created bool   `json:"created,omitempty"`
	Draft   bool   `json:"draft,omitempty"`
	Merged  bool   `json:"merged,omitempty"`
}

// PushBranch brings the commits of the run's branch to the server. It never moves a branch that has commits which are not the
// run's.
func (a *Activities) PushBranch(ctx context.Context, in Target) (Pushed, error) {
	r, err := a.read(in.RunID)
	if err != nil {
		return Pushed{}, a.told(err)
	}
	if r.snapshot.Commits == 0 {
		return Pushed{}, a.told(refusedf("run %s has no commits: there is nothing to push", r.name()))
	}
	at, err := a.locate(ctx, r, in)
	if err != nil {
		return Pushed{}, a.told(err)
	}
	defer at.close()
	out, err := at.push(ctx, r, in)
	failpoint.Hit("forge.pushed")
	return out, a.told(err)
}

// OpenPullRequest opens the pull request of a pushed branch, or brings the text of the one that is there up to date. What people
// have written around that text stays.
func (a *Activities) OpenPullRequest(ctx context.Context, in Target, pushed Pushed) (Opened, error) {
	r, err := a.read(in.RunID)
	if err != nil {
		return Opened{}, a.told(err)
	}
	client, err := a.clientOf(pushed.Repository)
	if err != nil {
		return Opened{}, a.told(err)
	}
	page, err := pullrequest.Page(r.events, r.report)
	if err != nil {
		return Opened{}, a.told(err)
	}
	text := a.redact(page)
	if link := a.link(in.RunID); link != "" {
		text += "\n[Review page of the run](" + link + ")\n"
	}
	draft := in.Draft || r.snapshot.State.Status != run.Completed
	title := in.Title
	if title == "" {
		title = run.OneLine(a.redact(r.snapshot.Input.Goal), "Run "+r.name())
	}
	p, created, err := client.OpenPull(ctx, forge.NewPull{Branch: pushed.Branch, Base: pushed.Base, Title: title, Body: section(in.RunID, text), Draft: draft})
	if err != nil {
		return Opened{}, a.told(err)
	}
	failpoint.Hit("forge.opened")
	out := Opened{Number: p.Number, URL: p.URL, Created: created, Draft: p.Draft, Merged: p.Merged}
	if created || p.Merged {
		return out, nil
	}
	if !p.Open {
		return out, a.told(refusedf("pull request #%d of branch %s is closed: open it again, or delete the branch on the server", p.Number, pushed.Branch))
	}
	if body := replaceSection(p.Body, in.RunID, text); body != p.Body {
		if err := client.SetBody(ctx, p.Number, body); err != nil {
			return out, a.told(err)
		}
	}
	if p.Draft && !draft {
		if err := client.SetReady(ctx, p); err != nil {
			return out, a.told(err)
		}
		out.Draft = false
	}
	return out, nil
}

// statusContext names the status that this package sets. Branch protection can require it.
const statusContext = "ratchet"

// SetStatus sets the status of the pushed commit: what was approved, by whom, and which checks passed.
func (a *Activities) SetStatus(ctx context.Context, in Target, pushed Pushed) error {
	r, err := a.read(in.RunID)
	if err != nil {
		return a.told(err)
	}
	client, err := a.clientOf(pushed.Repository)
	if err != nil {
		return a.told(err)
	}
	text, err := pullrequest.Summary(r.events, r.report, forge.MaxDescription)
	if err != nil {
		return a.told(err)
	}
	s := forge.Status{State: forge.Pending, Context: statusContext, Description: a.redact(text), TargetURL: a.link(in.RunID)}
	switch status := r.snapshot.State.Status; {
	case r.snapshot.Head != pushed.Head: // the run has gone on since
	case status == run.Completed:
		s.State = forge.Success
	case status.Terminal():
		s.State = forge.Failure
	}
	err = client.SetStatus(ctx, string(pushed.Head), s)
	failpoint.Hit("forge.marked")
	return a.told(err)
}

// recorded is a run as its record has it.
type recorded struct {
	events   []run.Event
	snapshot *run.Snapshot
	report   *check.Report // of the last evaluation; nil: none
}

func (r recorded) name() string { return r.snapshot.Input.Name.Shown(r.snapshot.Input.RunID) }

func (a *Activities) read(id run.ID) (r recorded, err error) {
	if err := id.Validate(); err != nil {
		return r, refusedf("%v", err)
	}
	dir, err := rundir.At(filepath.Join(a.config.RunsDir, "workflows", string(id)))
	if err != nil {
		return r, refusedf("the record of run %s is not on this worker's disk: %v", id, err)
	}
	if r.events, err = dir.Events(); err != nil {
		return r, err
	}
	if r.snapshot, err = run.Fold(r.events); err != nil {
		return r, err
	}
	if ref := r.snapshot.Report; ref != nil {
		b, err := dir.Load(*ref)
		if err != nil {
			return r, err
		}
		r.report = &check.Report{}
		if err := json.Unmarshal(b, r.report); err != nil {
			return r, fmt.Errorf("the report of run %s: %w", r.name(), err)
		}
	}
	return r, nil
}

// place is where a run's branch goes, and a repository to push from that has none of the user's configuration: a setting
// there could lead the token to another server.
type place struct {
	repo   forge.Repo
	client *forge.Client
	shadow git.Repo
	remote git.Remote
	branch string // that the user's repository has checked out; empty: none
	close  func()
}

func (a *Activities) locate(ctx context.Context, r recorded, in Target) (p place, err error) {
	source := git.Repo{Dir: r.snapshot.Input.Repository.Path}
	name := in.Remote
	if name == "" {
		name = "origin"
	}
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
	dir, err := os.MkdirTemp("", "ratchet-push-")
	if err != nil {
		return p, err
	}
	p.close = func() { os.RemoveAll(dir) }
	if p.shadow, err = git.Shadow(filepath.Join(dir, "git"), strings.TrimSpace(string(common)), dir, git.ID(r.snapshot.Head)); err != nil {
		p.close()
		return p, err
	}
	user, password := p.client.Credentials()
	p.remote = git.Remote{URL: p.client.PushURL(), User: user, Password: password, CA: p.client.CA()}
	return p, nil
}

func (p place) push(ctx context.Context, r recorded, in Target) (Pushed, error) {
	head := r.snapshot.Head
	out := Pushed{Repository: p.repo, Branch: r.snapshot.Input.BranchName(), Head: head}
	info, err := p.client.Info(ctx)
	switch {
	case err != nil:
		return out, err
	case info.Archived:
		return out, refusedf("%s is archived: nothing can be pushed to it", p.repo)
	case !info.MayPush:
		return out, refusedf("the worker's token may not push to %s: give it write permission for contents and pull requests", p.repo)
	}
	there, err := p.shadow.RemoteBranches(ctx, p.remote, slices.Compact([]string{out.Branch, info.DefaultBranch, in.Base, p.branch})...)
	if err != nil {
		return out, err
	}
	switch {
	case in.Base != "" && there[in.Base] == "":
		return out, refusedf("%s has no branch %s to merge into", p.repo, in.Base)
	case in.Base != "":
		out.Base = in.Base
	case p.branch != "" && p.branch != out.Branch && there[p.branch] != "":
		out.Base = p.branch
	default:
		out.Base = info.DefaultBranch
	}
	if out.Base == out.Branch {
		return out, refusedf("branch %s cannot be merged into itself", out.Branch)
	}
	if out.Unpushed, err = p.countUnpushed(ctx, there[out.Base], firstBase(r.snapshot.Input)); err != nil {
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
	if err := p.shadow.Push(ctx, p.remote, out.Branch, string(head), stands); errors.Is(err, git.ErrMoved) {
		return out, movedError(p.repo, out.Branch, "")
	} else if err != nil {
		return out, pushError(p.repo, err)
	}
	return out, nil
}

// firstBase returns the commit that the run began at, or the first of the runs before it.
func firstBase(in run.Input) run.Commit {
	if in.Before != nil {
		return in.Before.Base
	}
	return in.Repository.Base
}

func movedError(r forge.Repo, branch, stands string) error {
	at := ""
	if stands != "" {
		at = fmt.Sprintf(" (it stands at %.12s)", stands)
	}
	return refusedf("branch %s of %s has commits that are not this run's%s: they are not overwritten; merge them by hand, or delete the branch there", branch, r, at)
}

// pushError tells a refusal of the server, which no retry mends, from a failure on the way.
func pushError(r forge.Repo, err error) error {
	failed, ok := errors.AsType[*git.Error](err)
	if !ok {
		return err
	}
	switch text := failed.Stderr; {
	case strings.Contains(text, "`workflow` scope"), strings.Contains(text, "workflows` permission"):
		return refusedf("%s refuses changes of .github/workflows by this token: give it the permission for workflows", r)
	case strings.Contains(text, "Authentication failed"), strings.Contains(text, "terminal prompts disabled"), strings.Contains(text, "error: 403"):
		return refusedf("%s refuses the worker's token: it needs write permission for contents", r)
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

// clientOf returns the client of a repository.
func (a *Activities) clientOf(r forge.Repo) (*forge.Client, error) {
	for _, s := range a.config.Servers {
		if host := s.Host(); host == r.Host || strings.Split(host, ":")[0] == r.Host {
			return s.Open(r)
		}
	}
	return nil, report.Permanent(NotConfiguredError, fmt.Errorf("the worker has no token for %s: start it with --forge, as docs/forge.md says", r.Host))
}

func (a *Activities) redact(text string) string {
	if a.config.Redact == nil {
		return text
	}
	return a.config.Redact(text)
}

func (a *Activities) link(id run.ID) string {
	if a.config.Link == nil {
		return ""
	}
	return a.config.Link(id)
}

func refusedf(format string, args ...any) error {
	return report.Permanent(RefusedError, fmt.Errorf(format, args...))
}

// told returns the error as Temporal keeps it: without secrets, and with what the server said of a retry.
func (a *Activities) told(err error) error {
	if err == nil {
		return nil
	}
	text := a.redact(err.Error())
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return temporal.NewNonRetryableApplicationError(a.redact(app.Message()), app.Type(), nil)
	}
	said, ok := errors.AsType[*forge.Error](err)
	switch {
	case ok && said.Code == 401:
		return temporal.NewNonRetryableApplicationError("the server refuses the worker's token: "+text, RefusedError, nil)
	case ok && said.Code == 404:
		return temporal.NewNonRetryableApplicationError("the server does not know the repository, or the worker's token may not see it: "+text, RefusedError, nil)
	case ok && !said.Retriable():
		return temporal.NewNonRetryableApplicationError(text, RefusedError, nil)
	case ok && said.Wait > 0:
		return temporal.NewApplicationErrorWithOptions(text, "", temporal.ApplicationErrorOptions{NextRetryDelay: said.Wait})
	}
	return errors.New(text)
}
