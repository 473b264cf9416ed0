// Package forge brings the branch of a run to the server that its team merges on: it pushes the branch, opens a pull
// request and sets the status of its commit. Each activity looks at the server before it acts, so that a repeated one
// does nothing twice. The tokens are the worker's: they stand in no input, no result and no error.
package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/pullrequest"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Config says which servers there are.
type Config struct {
	RunsDir string
	Servers []forge.Server
	// Link returns the address of a run on the review page; nil or empty: none.
	Link func(run.ID) string
	// Redact removes the worker's secrets from a text.
	Redact func(string) string
	// Bots are the accounts whose reviews runs read although they may not write. They approve nothing.
	Bots []string
	// Engine starts the runs of tickets. Activities of tickets alone use it.
	Engine Engine
	// Pace is the time between two looks at a pull request whose checks run. One that waits for people is looked at a
	// tenth as often. Zero means DefaultPace.
	Pace time.Duration
}

// Activities are the activities of pull requests.
type Activities struct{ config Config }

// New returns the activities.
func New(c Config) *Activities { return &Activities{c} }

// The types of errors that no retry fixes.
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
	// Branch is the branch of the server that the commits go to; empty: one with the name of the run's.
	Branch string `json:"branch,omitempty"`
	// Closes is the number of the issue that the merge closes; zero: none.
	Closes int `json:"closes,omitempty"`
	// Reviews is the number of people who have to approve the pushed commit on the server before its status is a success,
	// and Approvers are the accounts that have.
	Reviews   int      `json:"reviews,omitempty"`
	Approvers []string `json:"approvers,omitempty"`
	// Merged is the branch that was merged into the commits of the run, on top of them; empty: none.
	Merged string `json:"merged,omitempty"`
}

// votes describes the approvals on the server, for the end of a status; empty: none is needed.
func (t Target) votes() string {
	if t.Reviews == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d of %s on the server", len(t.Approvers), display.Count(t.Reviews, "approval", "approvals"))
	if len(t.Approvers) > 0 {
		text += ": " + strings.Join(t.Approvers, ", ")
	}
	return display.OneLine(text, maxVotes)
}

// maxVotes bounds the characters about approvals in a status.
const maxVotes = 70

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
	Checks  string `json:"checks,omitempty"` // URL of the page of its checks; empty: they are on its own
}

// PushBranch brings the commits of the run's branch to the server. It never moves a branch that has commits which are not the
// run's.
func (a *Activities) PushBranch(ctx context.Context, in Target) (Pushed, error) {
	defer beat(ctx)()
	r, err := a.read(in.RunID)
	if err != nil {
		return Pushed{}, a.activityError(err)
	}
	if r.snapshot.Commits == 0 {
		return Pushed{}, a.activityError(refusedf("run %s has no commits: nothing to push", r.name()))
	}
	at, err := a.locate(ctx, r, in)
	if err != nil {
		return Pushed{}, a.activityError(err)
	}
	defer at.close()
	out, err := at.push(ctx, r, in)
	failpoint.Hit("forge.pushed")
	return out, a.activityError(err)
}

// OpenPullRequest opens the pull request of a pushed branch, or brings the text of the one that is there up to date.
// What people have written around that text stays.
func (a *Activities) OpenPullRequest(ctx context.Context, in Target, pushed Pushed) (Opened, error) {
	defer beat(ctx)()
	r, err := a.read(in.RunID)
	if err != nil {
		return Opened{}, a.activityError(err)
	}
	client, err := a.clientOf(pushed.Repository)
	if err != nil {
		return Opened{}, a.activityError(err)
	}
	page, err := pullrequest.Page(r.events, r.report)
	if err != nil {
		return Opened{}, a.activityError(err)
	}
	text := a.redact(page)
	if link := a.link(in.RunID); link != "" {
		text += "\n[Review page of the run](" + link + ")\n"
	}
	if issue := r.snapshot.Input.Issue; issue != nil && in.Closes == 0 {
		if repo, number, err := forge.ParseIssue(issue.URL); err == nil && strings.EqualFold(repo.String(), pushed.Repository.String()) {
			in.Closes = number
		}
	}
	if in.Closes > 0 {
		text += fmt.Sprintf("\nCloses #%d.\n", in.Closes)
	}
	draft := in.Draft || r.snapshot.State.Status != run.Completed
	title := in.Title
	if title == "" {
		title = run.OneLine(a.redact(r.snapshot.Input.Goal), "Run "+r.name())
	}
	p, created, err := client.OpenPull(ctx, forge.NewPull{Branch: pushed.Branch, Base: pushed.Base, Title: title, Body: section(in.RunID, text), Draft: draft})
	if err != nil {
		return Opened{}, a.activityError(err)
	}
	failpoint.Hit("forge.opened")
	out := Opened{Number: p.Number, URL: p.URL, Created: created, Draft: p.Draft, Merged: p.Merged, Checks: client.ChecksPage(p)}
	if created || p.Merged {
		return out, nil
	}
	if !p.Open {
		return out, a.activityError(refusedf("pull request #%d of branch %s is closed: reopen it, or delete the branch on the server", p.Number, pushed.Branch))
	}
	if body := replaceSection(p.Body, in.RunID, text); body != p.Body {
		if err := client.SetBody(ctx, p.Number, body); err != nil {
			return out, a.activityError(err)
		}
	}
	if p.Draft && !draft {
		if err := client.SetReady(ctx, p); err != nil {
			return out, a.activityError(err)
		}
		out.Draft = false
	}
	return out, nil
}

// SetStatus sets the status of the pushed commit: the number of approved patches, who approved them, and which checks
// passed.
func (a *Activities) SetStatus(ctx context.Context, in Target, pushed Pushed) error {
	defer beat(ctx)()
	r, err := a.read(in.RunID)
	if err != nil {
		return a.activityError(err)
	}
	client, err := a.clientOf(pushed.Repository)
	if err != nil {
		return a.activityError(err)
	}
	before, votes := "", in.votes()
	if in.Merged != "" {
		before = display.OneLine("Merged "+in.Merged, maxVotes) + ". "
	}
	text, err := pullrequest.Summary(r.events, r.report, forge.MaxDescription-utf8.RuneCountInString(before+votes))
	if err != nil {
		return a.activityError(err)
	}
	text = before + text + votes
	s := forge.Status{State: forge.Pending, Context: forge.OwnContext, Description: a.redact(text), TargetURL: a.link(in.RunID)}
	switch status := r.snapshot.State.Status; {
	case r.snapshot.Head != pushed.Head && in.Merged == "": // the run has gone on since
	case status == run.Completed && len(in.Approvers) < in.Reviews:
	case status == run.Completed:
		s.State = forge.Success
	case status.Terminal():
		s.State = forge.Failure
	}
	err = client.SetStatus(ctx, string(pushed.Head), s)
	failpoint.Hit("forge.marked")
	return a.activityError(err)
}

// beat sends heartbeats until stop is called, so that an attempt that was given to a dying worker does not last.
func beat(ctx context.Context) (stop func()) {
	if !activity.IsActivity(ctx) {
		return func() {}
	}
	_, stop = report.Heartbeat(ctx, report.Progress{Doing: "talks to the server"})
	return stop
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
	dir, err := rundir.OfRun(a.config.RunsDir, id)
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

// activityError returns the error as Temporal keeps it: without secrets, and with what the server said of a retry.
func (a *Activities) activityError(err error) error {
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
