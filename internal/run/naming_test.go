package run_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/run"
)

const anID run.ID = "01a2023d-7d1f-7c3a-9b51-2f6d0c9e4a77"

func TestTheDefaultNamesStay(t *testing.T) {
	in := run.Input{RunID: anID, Goal: "a goal"}
	if in.BranchName() != "ratchet/"+string(anID) || in.CommitMessage(1, "a summary") != "a summary" {
		t.Errorf("%s, %q", in.BranchName(), in.CommitMessage(1, "a summary"))
	}
}

func TestExpandBranch(t *testing.T) {
	for _, tc := range []struct {
		name, template, goal, want string
		run                        run.Name
	}{
		{"the default by a template", "ratchet/{run}", "x", "ratchet/" + string(anID), ""},
		{"a slug", "agents/{slug}-{short}", "Total() must not lose cents!\nMore.", "agents/total-must-not-lose-cents-0c9e4a77", ""},
		{"a goal in another alphabet", "agents/{slug}-{short}", "합계를 고쳐라", "agents/run-0c9e4a77", ""},
		{"a goal of dots and slashes", "agents/{slug}-{short}", "../../refs/heads/main", "agents/refs-heads-main-0c9e4a77", ""},
		{"a goal that ends in lock", "agents/{short}.{slug}", "lock", "", ""},
		{"a long goal", "agents/{slug}-{short}", strings.Repeat("word ", 50), "agents/word-word-word-word-word-word-word-word-0c9e4a77", ""},
		{"a number", "ratchet/{number}-{slug}", "Fix it", "ratchet/14-fix-it", "slug#14"},
		{"a number of a run without a name", "ratchet/{number}-{slug}", "Fix it", "ratchet/0c9e4a77-fix-it", ""},
		{"a goal that begins with another number", "ratchet/{number}-{slug}", "15-x", "ratchet/14-15-x", "slug#14"},
		{"no name of the run", "agents/{slug}", "x", "", ""},
		{"the run in the first part alone", "{short}/main", "x", "", ""},
		{"one part", "{run}", "x", "", ""},
		{"three parts", "a/b/{run}", "x", "", ""},
		{"the directory of remotes", "Remotes/{run}", "x", "", ""},
		{"HEAD", "HEAD/{run}", "x", "", ""},
		{"a reflog", "a/{run}@{1}", "x", "", ""},
		{"an unknown placeholder", "a/{run}{iteration}", "x", "", ""},
		{"a line", "a/{run}\nb", "x", "", ""},
	} {
		got, err := run.ExpandBranch(tc.template, anID, tc.run, tc.goal)
		if got != tc.want && tc.want != "" || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
}

// TestGitTakesEveryBranch tries what the rules let through on git's own.
func TestGitTakesEveryBranch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template := rapid.StringMatching(`[a-zA-Z./_+-]{1,12}(\{run\}|\{short\}|\{slug\}|\{number\})[a-zA-Z./_+@~^:-]{0,8}`).Draw(t, "template")
		name, err := run.ExpandBranch(template, anID, "slug#14", rapid.String().Draw(t, "goal"))
		if err != nil {
			return
		}
		if out, err := exec.Command("git", "check-ref-format", "--branch", name).CombinedOutput(); err != nil {
			t.Errorf("%q: %v %s", name, err, out)
		}
		if !strings.Contains(name, anID.Short()) && !strings.Contains(name, "14") || strings.Count(name, "/") != 1 {
			t.Errorf("%q", name)
		}
	})
}

func TestCommitMessage(t *testing.T) {
	in := run.Input{RunID: anID, Goal: "Fix Total()\n\nAll of it.", Naming: run.Naming{Message: "SHOP: {summary}\n\nGoal: {goal}\n{summary}\nRun {short}, iteration {iteration}, {slug}\n"}}
	want := "SHOP: Sum in cents\n\nGoal: Fix Total()\nSum in cents\nRun 0c9e4a77, iteration 2, fix-total"
	if got := in.CommitMessage(2, "  Sum in\tcents \nand more"); got != want {
		t.Errorf("got %q", got)
	}
}

func TestTheSubjectOfAPatchWithoutASummary(t *testing.T) {
	for _, tc := range []struct{ template, summary, want string }{
		{"", "Sum in cents", "Sum in cents"},
		{"", " \n", "Fix Total()"},
		{"SHOP: {summary}", "", "SHOP: Fix Total()"},
	} {
		in := run.Input{RunID: anID, Goal: "Fix Total()\n\nAll of it.", Naming: run.Naming{Message: tc.template}}
		if got := in.CommitMessage(1, tc.summary); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
	forger := run.Input{RunID: anID, Goal: "Ratchet-Run: forged"}
	if got := forger.CommitMessage(1, ""); got != "> Ratchet-Run: forged" {
		t.Errorf("%q", got)
	}
}

// A model writes the summary, and a stranger perhaps the goal: neither may look like what a commit is known
// by, or hold what a terminal obeys.
func TestNobodyForgesATrailer(t *testing.T) {
	in := run.Input{RunID: anID, Goal: "ratchet-Run: forged\u202e", Naming: run.Naming{Message: "{summary}\n\n{summary}\n{goal}\n {goal}"}}
	if err := run.CheckMessage(in.Naming.Message); err != nil {
		t.Fatal(err)
	}
	got := in.CommitMessage(1, "Ratchet-Patch: forged\x1b[2J\n\nRatchet-Run: forged\n")
	_, body, _ := strings.Cut(got, "\n")
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "ratchet-") {
			t.Errorf("a trailer of ours: %q", line)
		}
	}
	if strings.ContainsAny(got, "\x1b\u202e") || strings.Count(got, "forged") != 4 {
		t.Errorf("%q", got)
	}
}

func TestNamesOfAnInputAreChecked(t *testing.T) {
	for name, n := range map[string]run.Naming{
		"the user's branch":         {Branch: "main"},
		"a branch of another run":   {Branch: "ratchet/ffffffff-ffff"},
		"a placeholder left":        {Branch: "ratchet/{run}"},
		"a message of a forger":     {Message: "x\n\nRatchet-Run: y"},
		"a message that a CRLF has": {Message: "x\r\ny"},
		"a long message":            {Message: strings.Repeat("x", 4<<10)},
	} {
		in := validInput()
		if err := in.Validate(); err != nil {
			t.Fatal(err)
		}
		if in.Naming = n; in.Validate() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func validInput() run.Input {
	return run.Input{
		RunID: anID, Goal: "a goal", Repository: run.Repository{Path: "/src", Base: "0123456789012345678901234567890123456789"},
		Providers: run.Providers{Planner: "claude", Developer: "claude", Fixer: "claude"}, Checks: []string{"true"}, Policy: run.Always,
	}
}
