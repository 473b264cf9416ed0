package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// Ticket names an issue and says how its runs are made.
type Ticket struct {
	Repository forge.Repo `json:"repository"`
	Issue      int        `json:"issue"`
	Page       string     `json:"page,omitempty"` // the URL of the issue, if somebody gave it
	// Input is the input of each run, without an id, a name, a goal and a base commit. Its budget of money is for all runs
	// together.
	Input run.Input `json:"input"`
	// Base is the branch or commit that the first run begins at.
	Base string `json:"base"`
	// Template is the template of branch names; empty: the default.
	Template string `json:"template,omitempty"`
	Remote   string `json:"remote,omitempty"` // as in Target
	Into     string `json:"into,omitempty"`   // the branch to merge into, as Target.Base
	// Digest is that of the issue's text when somebody asked for the ticket; empty: the text counts as it is when the ticket
	// begins.
	Digest run.Digest `json:"digest,omitempty"`
}

// Name returns the name of the ticket.
func (t Ticket) Name() string { return fmt.Sprintf("%s#%d", t.Repository, t.Issue) }

// URL returns the address of the issue.
func (t Ticket) URL() string {
	return cmp.Or(t.Page, fmt.Sprintf("https://%s/%s/%s/issues/%d", t.Repository.Host, t.Repository.Owner, t.Repository.Name, t.Issue))
}

// Engine is what the activities of tickets need of the engine.
type Engine interface {
	// Begin names the run, makes its branch and starts it. It does nothing if the engine has a run of this id.
	Begin(ctx context.Context, in *run.Input, template string) error
	// Known returns the name of a run, and whether the engine has it.
	Known(ctx context.Context, id run.ID) (run.Name, bool, error)
	// Inspect resolves the base in the repository of a run, as it is now: that of a URL on the server.
	Inspect(ctx context.Context, r run.Repository, base string) (workspace.Source, error)
	// Status returns the status of a run, and whether it is over.
	Status(ctx context.Context, id run.ID) (run.Status, bool, error)
	// Watch has the watch of a repository signal a ticket when what it waits for may have changed.
	Watch(ctx context.Context, e WatchEntry) error
	// HasTicket reports whether there is a ticket of an issue, open or over.
	HasTicket(ctx context.Context, t Ticket) (bool, error)
	// StartTicket starts the ticket of an issue, unless there is one.
	StartTicket(ctx context.Context, t Ticket, b ticket.Bounds) error
}

// UnchangedError is the type of the error of a run that is not over, and of pull requests that have not changed. It is no
// failure: the engine calls again.
const UnchangedError = "ForgeUnchanged"

// Frozen is the issue as it is when a ticket begins.
type Frozen struct {
	Title  string     `json:"title"`
	Digest run.Digest `json:"digest"`
}

func digestOf(i forge.Issue) run.Digest { return run.DigestOf([]byte(i.Title + "\x00" + i.Body)) }

// FreezeIssue reads the issue, and refuses a ticket that could not end in a pull request. It changes nothing.
func (a *Activities) FreezeIssue(ctx context.Context, in Ticket) (out Frozen, err error) {
	defer beat(ctx)()
	src, err := a.config.Engine.Inspect(ctx, in.Input.Repository, in.Base)
	if err != nil {
		return out, a.activityError(baseError(err))
	}
	client, err := a.clientOf(in.Repository)
	if err != nil {
		return out, a.activityError(err)
	}
	issue, err := a.readIssue(ctx, client, in.Repository, in.Issue)
	switch {
	case err != nil:
		return out, a.activityError(err)
	case !issue.Open:
		return out, a.activityError(refusedf("issue %s is closed: open it again", in.Name()))
	case issue.Locked:
		return out, a.activityError(refusedf("issue %s is locked: unlock it", in.Name()))
	case in.Digest != "" && in.Digest != digestOf(issue):
		return out, a.activityError(refusedf("issue %s was edited after the ticket was asked for: read the new text, and ask again", in.Name()))
	}
	at, err := a.locateAt(ctx, in.Input.Repository.Path, in.Remote, src.Base)
	if err != nil {
		return out, a.activityError(err)
	}
	defer at.close()
	if !strings.EqualFold(at.client.PushURL(), client.PushURL()) {
		return out, a.activityError(refusedf("the issue is one of %s, and the repository %s is pushed to %s: name the right one with --repo or --remote", in.Repository, in.Input.Repository.Shown(), at.repo))
	}
	if _, _, err := at.branches(ctx, "", in.Into); err != nil {
		return out, a.activityError(err)
	}
	return Frozen{Title: run.OneLine(a.redact(issue.Title), "an issue"), Digest: digestOf(issue)}, nil
}

// IssueText is an issue as the goal of a run.
type IssueText struct {
	Goal   string     `json:"goal"`
	Digest run.Digest `json:"digest"`
}

// ReadIssue returns the text of an issue as the goal of a run. It changes nothing.
func (a *Activities) ReadIssue(ctx context.Context, r forge.Repo, number int) (out IssueText, err error) {
	defer beat(ctx)()
	client, err := a.clientOf(r)
	if err != nil {
		return out, a.activityError(err)
	}
	issue, err := a.readIssue(ctx, client, r, number)
	if err != nil {
		return out, a.activityError(err)
	}
	return IssueText{a.goal(issue), digestOf(issue)}, nil
}

// readIssue reads an issue, and refuses what is none.
func (a *Activities) readIssue(ctx context.Context, client *forge.Client, r forge.Repo, number int) (forge.Issue, error) {
	issue, err := client.Issue(ctx, number)
	said, _ := errors.AsType[*forge.Error](err)
	switch {
	case said != nil && (said.Code == 404 || said.Code == 410):
		return issue, refusedf("%s has no issue %d, or the worker's token may not see it: give it read permission for issues", r, number)
	case err != nil:
		return issue, lacks(err, r, "read permission for issues")
	case issue.IsPull:
		return issue, refusedf("%s#%d is a pull request: name the issue", r, number)
	}
	return issue, nil
}

// Round is what StartRound needs of the ticket's state.
type Round struct {
	Ticket Ticket       `json:"ticket"`
	State  ticket.State `json:"state"`
	// Name is the name of the workflow execution. The name and the number of the run make the run's id.
	Name string `json:"name"`
	// Feedback are the keys of what the ticket has seen on the server. They count as given if an earlier attempt has
	// started the run.
	Feedback []string `json:"feedback,omitempty"`
}

// Begun is the result of StartRound.
type Begun struct {
	RunID     run.ID   `json:"runId,omitempty"` // empty: there is nothing to do any more
	Name      run.Name `json:"name,omitempty"`
	Delivered []string `json:"delivered,omitempty"` // keys of the feedback that the run has got
}

// StartRound starts the next run of a ticket: the first with the text of the issue, a later one at the last commit of
// the one before, with its current failed checks and reviews. A second call finds the run of the first.
func (a *Activities) StartRound(ctx context.Context, in Round) (out Begun, err error) {
	defer beat(ctx)()
	id := run.ID(uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "ratchet-ticket:%s:%d", in.Name, in.State.Runs+1)).String())
	if name, known, err := a.config.Engine.Known(ctx, id); err != nil || known {
		return Begun{RunID: id, Name: name, Delivered: in.Feedback}, a.activityError(err)
	}
	client, err := a.clientOf(in.Ticket.Repository)
	if err != nil {
		return out, a.activityError(err)
	}
	issue, err := client.Issue(ctx, in.Ticket.Issue)
	if err != nil {
		return out, a.activityError(err)
	}
	var next run.Input
	if in.State.Run == "" {
		next, err = a.firstInput(ctx, in, issue)
	} else {
		next, out.Delivered, err = a.nextInput(ctx, client, in, issue)
	}
	if err != nil || next.Goal == "" {
		return out, a.activityError(err)
	}
	next.RunID, next.Name = id, ""
	next.Naming.Branch = id.Branch() // until it has its name
	next.Patches.NoWorkflows = !client.MayChangeWorkflows()
	if next.MaxCost = in.Ticket.Input.MaxCost; next.MaxCost > 0 {
		next.MaxCost = max(next.MaxCost-in.State.Spent, 1)
	}
	if err := next.Validate(); err != nil {
		return out, a.activityError(refusedf("%v", err))
	}
	if err := a.config.Engine.Begin(ctx, &next, in.Ticket.Template); err != nil {
		return out, a.activityError(err)
	}
	failpoint.Hit("ticket.started")
	out.RunID, out.Name = id, next.Name
	return out, nil
}

func (a *Activities) firstInput(ctx context.Context, in Round, issue forge.Issue) (next run.Input, err error) {
	if digestOf(issue) != in.State.Digest {
		return next, refusedf("the issue was edited while the ticket began: stop and retry to read the new text")
	}
	src, err := a.config.Engine.Inspect(ctx, in.Ticket.Input.Repository, in.Ticket.Base)
	if err != nil {
		return next, baseError(err)
	}
	next = in.Ticket.Input
	next.Repository.Base, next.Goal = src.Base, a.goal(issue)
	next.Issue = &run.Issue{URL: in.Ticket.URL(), Digest: in.State.Digest}
	return next, nil
}

// baseError returns an error about the base of a ticket, which a retry mends only where a server was away.
func baseError(err error) error {
	if failed, ok := errors.AsType[*remote.Error](err); ok && !failed.Final {
		return err
	}
	return refusedf("%v", err)
}

func (a *Activities) goal(i forge.Issue) string {
	return ticket.Goal(i.Number, a.redact(i.Title), a.redact(i.Body))
}

// nextInput returns the input of a later run. Its goal is empty where nothing is left to do.
func (a *Activities) nextInput(ctx context.Context, client *forge.Client, in Round, issue forge.Issue) (next run.Input, keys []string, err error) {
	before, err := a.read(in.State.Run)
	if err != nil {
		return next, nil, err
	}
	var notes []string
	if in.State.Pull > 0 {
		p, err := client.Pull(ctx, in.State.Pull)
		if err != nil {
			return next, nil, err
		}
		if p.Head != string(in.State.Head) || !p.Open { // the ticket looks again
			return next, nil, nil
		}
		f, err := a.feedbackOn(ctx, client, PullInput{Pull: in.State.Pull}, p.Head, issue.Author)
		if err != nil {
			return next, nil, err
		}
		logs, err := f.logs(ctx, client, in.State.Delivered)
		if err != nil {
			return next, nil, err
		}
		notes, keys = f.notes(in.State.Delivered, logs)
		if len(keys) == 0 && in.State.Note == "" && len(in.State.Conflicts) == 0 {
			return next, nil, nil
		}
	}
	if c := in.State.Conflicts; len(c) > 0 {
		notes = append(notes, display.Clip("The base branch was merged into the branch of this pull request. Both have changed the same lines of the files below, which now hold marks (<<<<<<<, =======, >>>>>>>). "+
			"Resolve each so that both changes stay in force, and leave no mark:\n"+strings.Join(c, "\n"), maxNote))
	}
	if in.State.Note != "" {
		notes = append(notes, a.redact(in.State.Note))
	}
	next = before.snapshot.GoOn(notes...)
	if in.State.Start != "" {
		next.Repository.Base = in.State.Start
		next.NoBaseline = next.NoBaseline || len(in.State.Conflicts) > 0
		if err := a.haveCommit(ctx, in); err != nil {
			return next, nil, err
		}
	}
	if digestOf(issue) == in.State.Digest {
		next.Goal = a.goal(issue)
	}
	return next, keys, nil
}

// haveCommit fetches the commit at which the next run begins, if it has been removed from the user's repository since: no
// branch there has it.
func (a *Activities) haveCommit(ctx context.Context, in Round) error {
	at, err := a.locateAt(ctx, in.Ticket.Input.Repository.Path, in.Ticket.Remote, in.State.Start)
	if err != nil {
		return err
	}
	defer at.close()
	return at.bring(ctx, in.State.Branch, string(in.State.Start), in.State.Start)
}

// RoundEnd is how a run of a ticket ended.
type RoundEnd struct {
	Commits int        `json:"commits"`
	Head    run.Commit `json:"head,omitempty"`
	Branch  string     `json:"branch"`
	Cost    run.Micros `json:"cost"`
	// Problem says why the run has no result; empty: it completed.
	Problem string `json:"problem,omitempty"`
}

// AwaitRound returns how a run ended. While it is not over, the error is that of report.NotOver.
func (a *Activities) AwaitRound(ctx context.Context, id run.ID) (out RoundEnd, err error) {
	status, over, err := a.config.Engine.Status(ctx, id)
	if err != nil {
		return out, a.activityError(err)
	}
	if !over {
		return out, report.NotOver(id, status, UnchangedError)
	}
	r, err := a.read(id)
	if err != nil {
		return out, a.activityError(err)
	}
	s := r.snapshot
	out = RoundEnd{Commits: s.Commits, Head: s.Head, Branch: s.Input.BranchName(), Cost: s.Usage.Cost}
	if s.State.Status == run.Completed {
		return out, nil
	}
	out.Problem = fmt.Sprintf("run %s is %s", r.name(), s.State.Status)
	if !s.State.Status.Terminal() { // its workflow was ended from outside
		out.Problem = fmt.Sprintf("the workflow of run %s was ended from outside", r.name())
	}
	if e := s.State.LastError; e != nil {
		out.Problem += ": " + display.OneLine(a.redact(e.Message), 300)
	}
	return out, nil
}

// CommentInput is the input of CommentOnIssue.
type CommentInput struct {
	Repository forge.Repo `json:"repository"`
	Issue      int        `json:"issue"`
	Text       string     `json:"text"`
}

// CommentOnIssue makes the text the ticket's one comment on its issue.
func (a *Activities) CommentOnIssue(ctx context.Context, in CommentInput) error {
	defer beat(ctx)()
	client, err := a.clientOf(in.Repository)
	if err != nil {
		return a.activityError(err)
	}
	err = lacks(client.SetComment(ctx, in.Issue, ticket.Marker, a.redact(in.Text)), in.Repository, "write permission for issues")
	failpoint.Hit("ticket.said")
	return a.activityError(err)
}

// lacks names the permission where the server refuses a call for the want of one.
func lacks(err error, r forge.Repo, permission string) error {
	if said, ok := errors.AsType[*forge.Error](err); ok && said.Code == 403 && !said.Retriable() {
		return refusedf("the worker's token lacks %s on %s (%s)", permission, r, said.Message)
	}
	return err
}

// DefaultPace is the time between two looks at a pull request whose checks run.
const DefaultPace = 30 * time.Second
