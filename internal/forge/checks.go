package forge

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
)

// Check is what one system of continuous integration says of a commit: a check run of GitHub, or a commit status.
type Check struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	Text   string `json:"text,omitempty"` // its own words
	Job    int64  `json:"-"`              // of GitHub's own continuous integration; zero: it is none
}

// Result is the result of a check.
type Result string

// The results. A check that was skipped, or that is neutral, has passed.
const (
	Waiting Result = "pending"
	Passed  Result = "passed"
	Broken  Result = "failed"
	// Held is a check that a person has to let begin, or that could not begin: GitHub's action_required and
	// startup_failure.
	Held Result = "held"
)

type wireRuns struct {
	Runs []struct {
		ID  int64 `json:"id"`
		App struct {
			Slug string `json:"slug"`
		} `json:"app"`
		Name       string `json:"name"`
		Status     string `json:"status"`
		Conclusion string `json:"conclusion"`
		Output     struct {
			Title   string `json:"title"`
			Summary string `json:"summary"`
		} `json:"output"`
	} `json:"check_runs"`
}

type wireCombined struct {
	Statuses []wireStatus `json:"statuses"`
}

type wireSuites struct {
	Suites []struct {
		Conclusion string `json:"conclusion"`
		App        struct {
			Name string `json:"name"`
		} `json:"app"`
	} `json:"check_suites"`
}

func commitPath(commit, part string) string { return "/commits/" + url.PathEscape(commit) + "/" + part }

// OwnContext is the context of the status that Ratchet sets. Branch protection can require it.
const OwnContext = "ratchet"

// Checks returns the checks of a commit, but Ratchet's own.
func (c *Client) Checks(ctx context.Context, commit string) (list []Check, err error) {
	var all wireCombined
	err = pages(ctx, c, commitPath(commit, "status"), func(page wireCombined) int {
		all.Statuses = append(all.Statuses, page.Statuses...)
		return len(page.Statuses)
	})
	list = all.checks()
	if err != nil || c.server.Kind == Gitea {
		return list, err
	}
	err = pages(ctx, c, commitPath(commit, "check-runs"), func(page wireRuns) int {
		list = append(list, page.checks()...)
		return len(page.Runs)
	})
	if err != nil {
		return nil, err
	}
	var suites wireSuites // a workflow that waits for a person has a suite and no run
	err = c.call(ctx, http.MethodGet, commitPath(commit, "check-suites")+"?per_page=100", nil, &suites)
	for _, s := range suites.Suites {
		if resultOf(s.Conclusion) == Held {
			list = append(list, Check{Name: cmp.Or(s.App.Name, "a workflow"), Result: Held, Text: s.Conclusion})
		}
	}
	return list, err
}

// checks returns the statuses of other contexts, of each the first.
func (w wireCombined) checks() (list []Check) {
	seen := map[string]bool{OwnContext: true}
	for _, s := range w.Statuses {
		if seen[s.Context] {
			continue
		}
		seen[s.Context] = true
		check := Check{Name: s.Context, Result: Broken, Text: s.Description}
		switch cmp.Or(s.State, s.Status) {
		case Success, "warning":
			check.Result = Passed
		case Pending:
			check.Result = Waiting
		}
		list = append(list, check)
	}
	return list
}

func (w wireRuns) checks() (list []Check) {
	for _, r := range w.Runs {
		check := Check{Name: r.Name, Result: Waiting}
		if r.App.Slug == actionsApp {
			check.Job = r.ID
		}
		if r.Status == "completed" {
			check.Result = resultOf(r.Conclusion)
			check.Text = r.Output.Title
			if r.Output.Summary != "" {
				check.Text += "\n" + r.Output.Summary
			}
		}
		list = append(list, check)
	}
	return list
}

func resultOf(conclusion string) Result {
	switch conclusion {
	case "success", "neutral", "skipped":
		return Passed
	case "action_required", "startup_failure":
		return Held
	}
	return Broken
}
