package follow

import (
	"context"
	"fmt"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Outcome is the last object of a run followed with --json.
type Outcome struct {
	workflows.RunResult
	Pending *run.Pending `json:"pending,omitempty"`
}

// PrintOutcome prints how the run ended or why it waits, and the next step.
func PrintOutcome(ctx context.Context, c *factory.Factory, r runref.Found, status run.Status) error {
	out, err := OutcomeOf(ctx, c, r, status)
	switch {
	case err != nil:
		return err
	case c.JSON:
		err = c.PrintJSON(out)
	case status.Waiting():
		waits.Print(c, *out.Pending)
	case status == run.Completed:
		takeHome(ctx, c, r)
	}
	if err == nil && status != run.Completed {
		err = &exit.StatusError{Status: status}
	}
	return err
}

// takeHome prints how to look at the approved commits and how to take them: at a terminal by the commands of this program,
// elsewhere also with git. It names commits in full, because the repository may give a name another meaning by then.
func takeHome(ctx context.Context, c *factory.Factory, r runref.Found) {
	facts, err := r.Facts(ctx, r.ID)
	if err != nil {
		return
	}
	if facts.Commits == 0 {
		c.Printf("  %s\n", c.Style().Dim("the checks pass as they are"))
		return
	}
	name := shellquote.Join(r.ShownName())
	if url := facts.Repository.URL; url != "" {
		for _, line := range []string{
			"look: " + c.Hint("diff %s", name),
			"pull request: " + c.Hint("pr %s", name),
			fmt.Sprintf("take: git fetch %s %s", story.OneLine(url, 200), facts.Branch),
		} {
			c.Printf("  %s\n", c.Style().Dim(line))
		}
		return
	}
	if c.Screen {
		c.Printf("  %s\n", c.Style().Dim("look: "+c.Hint("diff %s", name)+"   merge: "+c.Hint("merge %s", name)))
		return
	}
	repo := story.OneLine(shellquote.Join(console.NearPath(facts.Repository.Path)), 200)
	for _, line := range []string{
		fmt.Sprintf("look: git -C %s log -p --reverse %s..%s", repo, facts.Repository.Base, facts.Head),
		"merge: " + c.Hint("merge %s", r.ShownName()),
		fmt.Sprintf("take: git -C %s merge %s", repo, facts.Head),
	} {
		c.Printf("  %s\n", c.Style().Dim(line))
	}
}

// OutcomeOf returns how the run ended or, while it waits, how far it is.
func OutcomeOf(ctx context.Context, c *factory.Factory, r runref.Found, status run.Status) (Outcome, error) {
	if status.Terminal() {
		res, err := r.Result(ctx, r.ID)
		return Outcome{RunResult: res}, err
	}
	v, err := r.View(ctx, r.ID)
	return Outcome{
		RunResult: workflows.RunResult{
			RunID: r.ID, Name: r.Name, Status: status, Branch: v.Facts.Branch, Base: v.Facts.Repository.Base,
			Head: v.Facts.Head, Commits: v.Facts.Commits, Stat: v.Facts.Stat, Usage: v.Facts.Usage,
		},
		Pending: v.Pending,
	}, err
}
