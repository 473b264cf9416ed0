package terminal_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                              "0.0s",
		-time.Second:                   "0.0s", // clocks of two hosts
		1290 * time.Millisecond:        "1.2s",
		59*time.Second + 999e6:         "59.9s",
		time.Minute:                    "1m00s",
		61*time.Minute + 5*time.Second: "1h01m",
	} {
		if got := terminal.Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 4210: "4.2 KB", 1_300_000: "1.3 MB"} {
		if got := terminal.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestTableAlignsWhatIsColoured(t *testing.T) {
	s := terminal.Colors(true)
	got := terminal.Table([][]string{{s.Bad("no"), "x"}, {"müde", "y"}, {"", ""}})
	want := "\x1b[31mno\x1b[0m    x\nmüde  y\n\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"länger", 4, "län…"}, {"x", 0, ""}, {"", 0, ""},
	} {
		if got := terminal.Clip(tt.text, tt.width); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""}, {"one", 10, "one"}, {"one two three", 7, "one two|three"}, {"a  word-that-is-long b", 6, "a|word-that-is-long|b"}, {"zwölf öre", 9, "zwölf öre"},
	} {
		if got := strings.Join(terminal.Fold(tt.text, tt.width), "|"); got != tt.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestNotesAreFoldedOnALiveScreenAlone(t *testing.T) {
	for live, want := range map[bool]string{true: "  one two\n  three\n", false: "  one two three\n"} {
		var b strings.Builder
		terminal.NewScreen(&b, terminal.Options{Live: live, Width: func() int { return 10 }}).Note("  ", "one two three")
		if b.String() != want {
			t.Errorf("live %v: %q", live, b.String())
		}
	}
}

// The moving line moves by itself and says how long its step has lasted.
func TestWorkMovesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		work := terminal.NewScreen(&b, terminal.Options{Live: true}).Work("builds")
		time.Sleep(1050 * time.Millisecond) // of the clock of synctest, which waits for nothing
		work.Step("starts")
		time.Sleep(300 * time.Millisecond) // of that clock
		work.Show("[##--] half")
		time.Sleep(time.Second) // of that clock
		work.Stop()
		work.Stop()
		said := b.String()
		for _, want := range []string{"builds · 0.0s", "builds · 1.0s", "starts · 0.2s", "[##--] half"} {
			if !strings.Contains(said, want) {
				t.Errorf("it never says %q: %q", want, said)
			}
		}
		if n := strings.Count(said, "\r\x1b[K"); n != 25 || !strings.HasSuffix(said, "\r\x1b[K") {
			t.Errorf("%d states in 2.3 seconds, the last %q", n, said[strings.LastIndexByte(said, '\r'):])
		}
	})
}

func TestWorkIsSilentWithoutALiveScreen(t *testing.T) {
	var b strings.Builder
	work := terminal.NewScreen(&b, terminal.Options{}).Work("builds")
	work.Step("starts")
	work.Stop()
	if b.String() != "" {
		t.Errorf("wrote %q", b.String())
	}
}

func TestDiffColoursLinesAndKeepsThem(t *testing.T) {
	diff := "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same"
	if got := terminal.Colors(false).Diff(diff); got != diff {
		t.Errorf("without colours: %q", got)
	}
	got := terminal.Colors(true).Diff(diff)
	for _, want := range []string{"\x1b[31m-old\x1b[0m\n", "\x1b[32m+new\x1b[0m\n", "\x1b[36m@@ -1 +1 @@\x1b[0m\n", "\n same"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

func TestScreenThatIsNotLiveHasNoMovingLine(t *testing.T) {
	var b strings.Builder
	s := terminal.NewScreen(&b, terminal.Options{})
	s.Spin("works")
	s.Line("done")
	s.Clear()
	if b.String() != "done\n" {
		t.Errorf("wrote %q", b.String())
	}
}

func TestMovingLineGivesWayAndFits(t *testing.T) {
	var b strings.Builder
	s := terminal.NewScreen(&b, terminal.Options{Live: true, Width: func() int { return 20 }})
	s.Spin(strings.Repeat("x", 50))
	if drawn := strings.TrimPrefix(b.String(), "\r\x1b[K"); terminal.Width(drawn) >= 20 {
		t.Errorf("the moving line is %d wide: %q", terminal.Width(drawn), drawn)
	}
	b.Reset()
	s.Line("done")
	s.Clear()
	if b.String() != "\r\x1b[Kdone\n" {
		t.Errorf("wrote %q", b.String())
	}
}

func TestWrapKeepsWordsAndColours(t *testing.T) {
	for _, tt := range []struct {
		line    string
		columns int
		want    string
	}{
		{"short", 10, "short"},
		{"  one two three four five six seven", 30, "  one two three four five six|      seven"},
		{"  \x1b[31mone two three four\x1b[0m five six seven", 27, "  \x1b[31mone two three four\x1b[0m five|      six seven"},
		{"  \x1b[31mone two three four five six\x1b[0m", 28, "  \x1b[31mone two three four five\x1b[0m|      \x1b[31msix\x1b[0m"},
		{strings.Repeat("x", 50), 30, strings.Repeat("x", 30) + "|    " + strings.Repeat("x", 20)},
		{"  at " + strings.Repeat("/path", 8), 30, "  at " + strings.Repeat("/path", 5) + "|      " + strings.Repeat("/path", 3)},
		{"  at it " + strings.Repeat("/path", 4) + " and on", 26, "  at it|      " + strings.Repeat("/path", 4) + "|      and on"},
		{"日本語日本語日本語日本語日本語日本語", 30, "日本語日本語日本語日本語日本語|    日本語"},
	} {
		rows := terminal.Wrap(tt.line, tt.columns)
		if got := strings.Join(rows, "|"); got != tt.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.line, tt.columns, got, tt.want)
		}
		for _, row := range rows {
			if terminal.Width(row) > tt.columns {
				t.Errorf("%q is %d columns wide", row, terminal.Width(row))
			}
		}
	}
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"abc": 3, "日本": 4, "e\u0301": 1, "\x1b[31mab\x1b[0m": 2, "🦦": 2, "": 0} {
		if got := terminal.Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}

// The lines below the printed ones are replaced as one, also where a terminal has become narrower.
func TestFootAndTypedLineStandBelow(t *testing.T) {
	columns := 40
	var b strings.Builder
	s := terminal.NewScreen(&b, terminal.Options{Live: true, Width: func() int { return columns }})
	s.SetFoot("keys")
	s.Spin("works")
	if got := b.String(); got != "\r\x1b[K  ⠙ works\n\x1b[Kkeys" {
		t.Errorf("drawn %q", got)
	}
	b.Reset()
	s.SetTyped("> ", "a note")
	if got := b.String(); got != "\r\x1b[1A\x1b[J\r\x1b[K  ⠙ works\n\x1b[K> a note" {
		t.Errorf("drawn %q", got)
	}
	b.Reset()
	s.Line("done")
	if got := b.String(); got != "\r\x1b[1A\x1b[Jdone\n\r\x1b[K  ⠙ works\n\x1b[K> a note" {
		t.Errorf("drawn %q", got)
	}
	b.Reset()
	columns = 5 // "  ⠙ works" and "> a note" take two rows each
	s.SetTyped("> ", strings.Repeat("0123456789", 3))
	if got := b.String(); !strings.HasPrefix(got, "\r\x1b[3A\x1b[J") || !strings.HasSuffix(got, "> 89") {
		t.Errorf("drawn %q", got)
	}
}

// TestALongTextIsPasted pastes as much as a line takes. It would not end if each key cost what the text before it has.
func TestALongTextIsPasted(t *testing.T) {
	var out strings.Builder
	s := terminal.NewScreen(&out, terminal.Options{Live: true, Width: func() int { return 20 }})
	pasted := strings.Repeat("0123456789 日本語 ", 16<<10/14)
	for at := range pasted {
		out.Reset()
		s.SetTyped("> ", pasted[:at])
	}
	s.SetTyped("> ", pasted)
	if got := out.String(); !strings.HasSuffix(got, "> 123456789 日本語 ") {
		t.Errorf("drawn %q", got)
	}
}

func TestKeysAreDecoded(t *testing.T) {
	for typed, want := range map[string]string{
		"yé日\r": "y é 日 enter", "\x1b[A\x1bOB\x1b[5~": "up down page up", "\x7f\x15\x17\x04": "backspace erase line erase word end",
		"\x1b[200~no\r\ny\n\x7f\x1b[A\x1b[201~\n": "n o     y   enter", "\x1b[200~y\n": "y  ", "\x00": "other", "\xff": "other",
	} {
		var names []string
		for _, k := range terminal.DecodeKeys(typed) {
			name := string(k.Name)
			if k.Char != 0 {
				name = string(k.Char)
			}
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
}

// A paste whose end is lost holds Enter for a while only.
func TestAPasteWithoutAnEnd(t *testing.T) {
	for reads, want := range map[int]terminal.Key{1: {Char: ' '}, 30: {Name: terminal.Enter}} {
		if got := terminal.DecodeLater("\x1b[200~y", reads, "\r"); len(got) != 1 || got[0] != want {
			t.Errorf("after %d reads: %+v, want %+v", reads, got, want)
		}
	}
}

func TestALineIsEdited(t *testing.T) {
	for typed, want := range map[string]string{"abc\x7fd": "abd", "one two \x17": "one ", "x\x15y": "y", "\x7f": "", "日\x7f本": "本"} {
		var line terminal.Typed
		for _, k := range terminal.DecodeKeys(typed) {
			line.Press(k)
		}
		if got := line.String(); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// A terminal that obeys no such sequence is not sent one, and text of others cannot end it early.
func TestWhoIsCalled(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tt := range []struct {
		env  func(string) string
		want string
	}{
		{env("TERM", "xterm-256color"), "\a\x1b]9;it waits\x1b\\"},
		{env("TERM", "xterm-256color", "VTE_VERSION", "7600"), "\a\x1b]777;notify;Ratchet;it waits\x1b\\"},
		{env("TERM", "foot"), "\a\x1b]777;notify;Ratchet;it waits\x1b\\"},
		{env("TERM", "dumb"), ""}, {env("TERM", "linux"), "\a"}, {env(), ""},
	} {
		for _, live := range []bool{true, false} {
			var b strings.Builder
			terminal.NewScreen(&b, terminal.Options{Live: live, Notice: terminal.Notices(tt.env)}).Call("it waits")
			if want := tt.want; b.String() != want && live || !live && b.String() != "" {
				t.Errorf("wrote %q, want %q", b.String(), want)
			}
			before := b.Len()
			terminal.NewScreen(&b, terminal.Options{Live: live, Notice: terminal.Notices(tt.env), Silent: true}).Call("it waits")
			if b.Len() > before {
				t.Errorf("a silent screen wrote %q", b.String()[before:])
			}
		}
	}
}

func TestATableFitsTheScreen(t *testing.T) {
	s := terminal.Colors(true)
	rows := [][]string{{s.Dim("goal"), "make the " + s.Wait("failing test pass, and keep") + " the rest"}, {s.Dim("branch"), "ratchet/1"}}
	plain := strings.NewReplacer("\x1b[0m", "", "\x1b[2m", "", "\x1b[33m", "")
	for columns, want := range map[int]string{
		0:  "goal    make the failing test pass, and keep the rest\nbranch  ratchet/1\n",
		40: "goal    make the failing test pass, and\n        keep the rest\nbranch  ratchet/1\n",
		20: "goal    make the failing test pass, and keep the rest\nbranch  ratchet/1\n",
	} {
		if got := plain.Replace(terminal.TableWithin(rows, columns)); got != want {
			t.Errorf("%d columns:\n%s", columns, got)
		}
	}
}

// A prompt that leaves no room to type is broken between words, and so is a line that was typed behind one.
func TestALongPromptLeavesRoomToType(t *testing.T) {
	var b strings.Builder
	s := terminal.NewScreen(&b, terminal.Options{Live: true, Width: func() int { return 30 }})
	prompt := s.FitPrompt("  Which are accepted? (numbers, such as 1 3-5) ")
	s.SetTyped(prompt, "1 3-5 and some more words")
	s.KeepTyped()
	for line := range strings.Lines(b.String()) {
		line = line[strings.LastIndex(line, "\x1b[K")+1:]
		if terminal.Width(strings.TrimRight(strings.TrimPrefix(line, "[K"), "\n")) >= 30 {
			t.Errorf("%q is wider than the screen", line)
		}
	}
	if short := "  Apply? [y n] "; s.FitPrompt(short) != short {
		t.Error("a short prompt is broken")
	}
	if terminal.Width(prompt) > 20 || !strings.Contains(b.String(), "Which are") || !strings.Contains(strings.Join(strings.Fields(b.String()), " "), "some more words") {
		t.Errorf("prompt %q, shown %q", prompt, b.String())
	}
}
