package display_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// deceivers returns the characters by which a text reads otherwise than it is: the characters of the
// Trojan Source papers, of terminals, and of names that look alike.
func deceivers() []string {
	var all []string
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c\u200e\u200f\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u034f\u115f\u1160\u2800\u3164\uffa0\u180e\u2028\u2029\u0085\u009b\u007f\u001b\u0007\u0008\u0000\r\v\f\ufe0f\U000e0041\U000e0101\u2065\ufff0\U000e0080" {
		all = append(all, "if x {"+string(r)+" return }")
	}
	return append(all, "\x1b[2J\x1b[1;1H", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\link", "raw \x9b31m", "bad utf-8 \xff\xfe", "p\u0430ypal", "\u0441onfig", "s\u03bftring")
}

func TestNothingDeceptiveIsShown(t *testing.T) {
	for _, s := range deceivers() {
		for name, shown := range map[string]string{"path": display.Line(s), "diff": display.Text([]byte(s))} {
			for _, r := range shown {
				if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) {
					t.Errorf("%s of %q shows U+%04X", name, s, r)
				}
			}
			if !strings.Contains(shown, "<U+") && !strings.Contains(shown, "<0x") {
				t.Errorf("%s of %q hides something: %q", name, s, shown)
			}
		}
	}
	if n := len(deceivers()); n < 40 {
		t.Errorf("only %d samples", n)
	}
}

// TestJSONShowsNothingDeceptive: a terminal obeys it in JSON too.
func TestJSONShowsNothingDeceptive(t *testing.T) {
	for _, s := range append(deceivers(), "plain <b> & text, ünïcode, 日本\n") {
		raw, err := json.Marshal(map[string]string{"text": s})
		if err != nil {
			t.Fatal(err)
		}
		shown := display.JSON(raw)
		for _, r := range string(shown) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2800 {
				t.Errorf("%q shows U+%04X", s, r)
			}
		}
		var before, after map[string]string
		if err := errors.Join(json.Unmarshal(raw, &before), json.Unmarshal(shown, &after)); err != nil || before["text"] != after["text"] {
			t.Errorf("%q is read as %q, %v", before["text"], after["text"], err)
		}
	}
	if got := string(display.JSON([]byte("\"\xff\"\n"))); got != "\"\\ufffd\"\n" {
		t.Errorf("a byte that is no UTF-8: %q", got)
	}
}

func TestPlainTextIsShownAsItIs(t *testing.T) {
	for _, s := range []string{"", "src/main.go", "naïve café", "日本語", "при\u0432ет", "α + β", "\ttab\nline\n", "emoji 🙂"} {
		if got := display.Text([]byte(s)); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := display.Line("a\nb\tc"); got != "a<U+000A>b<U+0009>c" {
		t.Errorf("a path shows %q", got)
	}
}

func TestLongLinesAreBroken(t *testing.T) {
	got := display.Text([]byte("+" + strings.Repeat(" ", 1000) + "evil()\nnext\n"))
	for l := range strings.Lines(got) {
		if len([]rune(l)) > 410 {
			t.Errorf("a line of %d characters", len([]rune(l)))
		}
	}
	if !strings.Contains(got, "\n⋯ ") || !strings.HasSuffix(got, "evil()\nnext\n") {
		t.Errorf("got %q", got)
	}
}

func TestClip(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"what fits":           {"0123456789", "0123456789"},
		"what does not":       {"0123456789x", "0123456…"},
		"a rune at the cut":   {"012345é6789x", "012345…"},
		"what is no text":     {"a\xffb", "a?b"},
		"much of what is not": {strings.Repeat("\xff", 20), "?"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := display.Clip(tt.text, 10); len(got) > 10 || !utf8.ValidString(got) || got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "one": "one", "\n \n two \nthree": "two", " \n": ""} {
		if got := display.FirstLine(text); got != want {
			t.Errorf("of %q: got %q, want %q", text, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:       "0s",
		59 * time.Second: "59s",
		2 * time.Minute:  "2m",
		47 * time.Hour:   "47h",
		48 * time.Hour:   "2d",
	} {
		if got := display.Age(d); got != want {
			t.Errorf("Age(%v) = %s, want %s", d, got, want)
		}
	}
}
