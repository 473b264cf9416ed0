package board_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/golden"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

var now = time.Date(2026, 11, 22, 15, 4, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// day is a working day's runs.
func day() []inbox.Item {
	row := func(name string, s run.Status, started time.Duration, goal string) inbox.Item {
		return inbox.Item{Kind: inbox.Run, Listed: runs.Listed{ID: run.ID("id-" + name), Name: run.Name(name), Status: s, Started: ago(started), Goal: goal, Repository: "/src/" + name}}
	}
	approve := row("slug#14", run.AwaitingApproval, time.Hour, "Make the failing test pass")
	approve.About, approve.Stat, approve.Since = "Collapse white space in slugs", run.Stat{Files: 1, Added: 1, Deleted: 1}, ago(2*time.Minute)
	approve.Used = run.Usage{TotalTokens: 41_000, Cost: 210_000}
	allow := row("shop#5", run.AwaitingApproval, 2*time.Hour, "Use pnpm")
	allow.About, allow.Tool, allow.Since, allow.Used = "Bash: npm install left-pad \x1b[2J\u202e", true, ago(14*time.Minute), run.Usage{TotalTokens: 900}
	answer := row("shop#3", run.AwaitingInput, 3*time.Hour, "Names")
	answer.About, answer.Since = "Refuse or cut names over 64?", ago(11*time.Minute)
	working := row("api#8", run.Running, 6*time.Minute, "Return 404 for an unknown id, not 500, in every handler of the public interface")
	working.Phase, working.Iteration = run.Fix, 2
	old := row("", run.Running, 50*time.Hour, "Begun without a name")
	old.Phase, old.Iteration, old.ID, old.Sandbox = run.Evaluate, 1, "0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77", run.SandboxOff
	merged := row("slug#13", run.Completed, 5*time.Hour, "Trim titles")
	ended := ago(30 * time.Minute)
	merged.Ended = &ended
	killed := row("slug#12", run.Failed, 6*time.Hour, "x")
	killed.Outcome, killed.Ended = "terminated", &ended
	return []inbox.Item{merged, working, answer, killed, allow, old, approve}
}

// TestScreens compares the board with the golden screens, which were reviewed by eye.
func TestScreens(t *testing.T) {
	keys := func(b *board.Board, typed string) {
		for _, k := range typed {
			switch k {
			case '\n':
				b.Press(terminal.Key{Name: terminal.Enter})
			case '\x1b':
				b.Press(terminal.Key{Name: terminal.Escape})
			default:
				b.Press(terminal.Key{Char: k})
			}
		}
	}
	for _, tt := range []struct {
		name           string
		columns, lines int
		rows           []inbox.Item
		typed          string
	}{
		{"day-110", 110, 20, day(), ""},
		{"day-58", 58, 20, day(), "jj"},
		{"day-200", 200, 20, day(), "j"},
		{"low", 110, 8, day(), "jjjjjj"},
		{"help", 58, 20, day(), "?"},
		{"search", 110, 12, day(), "/SHOP"},
		{"searched", 110, 12, day(), "/shop\nj"},
		{"search-nothing", 110, 8, day(), "/zzz\n"},
		{"no-such-key", 110, 12, day(), "x"},
		{"empty", 58, 8, nil, ""},
	} {
		b := &board.Board{}
		b.SetRows(tt.rows)
		keys(b, tt.typed)
		lines := b.Draw("ratchet · 3 need you", now, tt.columns, tt.lines)
		if len(lines) != tt.lines {
			t.Errorf("%s: %d lines of %d", tt.name, len(lines), tt.lines)
		}
		for _, line := range lines {
			if terminal.Width(line) >= tt.columns || strings.ContainsAny(line, "\x1b\u202e") {
				t.Errorf("%s: %q is %d columns wide", tt.name, line, terminal.Width(line))
			}
		}
		golden.Compare(t, "testdata/"+tt.name+".txt", strings.Join(lines, "\n")+"\n")
	}
	narrow := board.Lines(terminal.Style{}, sorted(day()), now, 58)
	for _, line := range narrow {
		if terminal.Width(line) >= 58 {
			t.Errorf("list: %q is %d columns wide", line, terminal.Width(line))
		}
	}
	golden.Compare(t, "testdata/list-58.txt", strings.Join(narrow, "\n")+"\n")
	golden.Compare(t, "testdata/list.txt", strings.Join(board.Lines(terminal.Style{}, sorted(day()), now, 0), "\n")+"\n")
}

func sorted(rows []inbox.Item) []inbox.Item {
	inbox.Sort(rows)
	return rows
}

func TestKeysAskForWhatFitsTheRun(t *testing.T) {
	for _, tt := range []struct {
		chosen string
		key    terminal.Key
		want   board.Action
	}{
		{"slug#14", terminal.Key{Name: terminal.Enter}, board.Review},
		{"slug#14", terminal.Key{Char: 'y'}, board.Review}, // never an approval of a patch that was not shown
		{"slug#14", terminal.Key{Char: 'n'}, board.Review},
		{"slug#14", terminal.Key{Char: 'r'}, board.Review},
		{"slug#14", terminal.Key{Char: 'm'}, ""},
		{"slug#14", terminal.Key{Char: 'x'}, ""},
		{"slug#14", terminal.Key{Char: 's'}, board.Start},
		{"slug#14", terminal.Key{Char: 'q'}, board.Quit},
		{"slug#14", terminal.Key{Name: terminal.EndInput}, board.Quit},
		{"api#8", terminal.Key{Char: 'y'}, ""},
		{"api#8", terminal.Key{Char: 'r'}, ""},
		{"api#8", terminal.Key{Name: terminal.Enter}, board.Review},
		{"slug#13", terminal.Key{Char: 'm'}, board.Merge},
		{"slug#13", terminal.Key{Char: 'r'}, board.Retry},
		{"slug#13", terminal.Key{Char: 'o'}, board.Open},
		{"slug#12", terminal.Key{Char: 'm'}, ""},
	} {
		b := &board.Board{}
		b.SetRows(day())
		for range 10 {
			if r, _ := b.Chosen(); r.Name == run.Name(tt.chosen) {
				break
			}
			b.Press(terminal.Key{Name: terminal.Down})
		}
		if r, ok := b.Chosen(); !ok || string(r.Name) != tt.chosen {
			t.Fatalf("%s is not on the board", tt.chosen)
		}
		if got := b.Press(tt.key); got != tt.want {
			t.Errorf("%v at %s asks for %q, want %q", tt.key, tt.chosen, got, tt.want)
		}
	}
	empty := &board.Board{}
	if got := empty.Press(terminal.Key{Name: terminal.Enter}); got != "" {
		t.Errorf("without a run Enter asks for %q", got)
	}
}

// The chosen run stays chosen while others come and go.
func TestTheChosenRunStays(t *testing.T) {
	b := &board.Board{}
	b.SetRows(day())
	b.Press(terminal.Key{Char: 'j'})
	before, _ := b.Chosen()
	var more []inbox.Item
	for i := range 30 {
		more = append(more, inbox.Item{Kind: inbox.Run, Listed: runs.Listed{ID: run.ID(fmt.Sprint("new-", i)), Status: run.AwaitingInput, Started: ago(100 * time.Hour)}})
	}
	b.SetRows(append(more, day()...))
	if after, _ := b.Chosen(); after.ID != before.ID {
		t.Errorf("%s was chosen, %s is", before.ID, after.ID)
	}
	if b.Waiting() != 33 {
		t.Errorf("%d wait", b.Waiting())
	}
	shown := strings.Join(b.Draw("t", now, 80, 10), "\n")
	if !strings.Contains(shown, "❯ "+before.Name.Shown(before.ID)) {
		t.Errorf("it is not in sight:\n%s", shown)
	}
	b.SetRows(nil)
	if _, ok := b.Chosen(); ok {
		t.Error("a run of an empty board is chosen")
	}
	b.SetError("the engine \x1b[2J is away")
	if foot := b.Draw("t", now, 80, 10)[9]; !strings.Contains(foot, "<U+001B>[2J is away") {
		t.Errorf("foot %q", foot)
	}
}
