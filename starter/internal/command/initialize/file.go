package initialize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// content returns the text of the settings.
func (r *Report) content(src workspace.Source) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Settings for the runs of Ratchet on this repository. `starter run` reads them from the last commit.")
	line("# A flag, and your own settings, stand above them. docs/configuration.md of Ratchet has every key.")
	line("")
	if len(r.Agents) > 0 {
		line("# Who plans, writes and fixes. Found by init: %s.", comment(strings.Join(r.Agents, ", ")))
	} else {
		line("# Who plans, writes and fixes. Init found no agent: install one, and name it.")
	}
	if r.Provider != "" {
		line("provider = %s", quoted(r.Provider))
	} else {
		line("# provider = \"claude\"")
	}
	line("")
	line("# What judges a result, at commit %.12s:", src.Base)
	for _, once := range r.Checks {
		line("#   %s", comment(once.describeEnd()))
	}
	if r.NotRun != "" {
		line("#   not run: %s", comment(r.NotRun))
	}
	line("# They see the caches of their tools, no variable of yours and no network: what opens that is in your own settings.")
	line("check = [")
	for _, once := range r.Checks {
		line("  %s,", quoted(once.Command))
	}
	line("]")
	if slices.ContainsFunc(r.Checks, func(o checkedOnce) bool { return o.Status == check.Timeout }) {
		line("# A check had no end in its limit.")
	}
	line("check-timeout = %s", quoted(r.limit()))
	line("")
	line("# Each patch waits for a person. A file of a repository cannot loosen these three, your own settings can.")
	line("approve = %s", quoted(string(run.Always)))
	line("sandbox = %s", quoted(string(run.SandboxRequired)))
	line("tools = %s", quoted(string(run.AskTools)))
	line("")
	line("# Most fixes that are tried automatically.")
	line("max-fix = %d", run.DefaultMaxFix)
	line("")
	line("# The branch of a run: {number}, {slug}, {run}, {short}. Its commits also: {summary}, {goal}, {name}, {iteration}.")
	line("branch = %s", quoted(run.DefaultBranch))
	line("commit-message = %s", quoted("{summary}"))
	return b.String()
}

// describeEnd says how the check ended.
func (o checkedOnce) describeEnd() string {
	took := terminal.Duration(time.Duration(o.Millis) * time.Millisecond)
	switch o.Status {
	case "":
		return o.Command
	case check.Pass:
		return fmt.Sprintf("%s passes in %s", o.Command, took)
	case check.Fail:
		return fmt.Sprintf("%s fails after %s", o.Command, took)
	case check.Timeout:
		return fmt.Sprintf("%s had no end in %s", o.Command, took)
	}
	return fmt.Sprintf("%s cannot run: %s", o.Command, o.Reason)
}

// quoted returns a string of TOML. The escapes of JSON are escapes of TOML as well.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSpace(b.String())
}

// comment makes a text fit for a comment.
func comment(text string) string {
	return display.OneLine(text, 200)
}

// limit returns the limit of each check: the default, or four times what the slowest has taken in caches that
// may have been empty.
func (r *Report) limit() string {
	limit := run.Limit{}.WithDefaults().Check
	for _, once := range r.Checks {
		took := 4 * time.Duration(once.Millis) * time.Millisecond
		limit = max(limit, min(took.Round(time.Minute), time.Hour))
	}
	text := strings.TrimSuffix(limit.String(), "0s")
	if whole, ok := strings.CutSuffix(text, "h0m"); ok {
		return whole + "h"
	}
	return text
}
