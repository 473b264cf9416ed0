package syntax_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2/lexers"
	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/syntax"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func TestClasses(t *testing.T) {
	for name, tt := range map[string]struct{ line, want string }{
		"slug.go":    {`	return "a b" + 42 // why`, `	[keyword return] [string "a b"] + [number 42] [comment // why]`},
		"tool.py":    {`def f(): return 'x'`, `[keyword def] f(): [keyword return] [string 'x']`},
		"Makefile":   {`# all`, `[comment # all]`},
		"notes":      {`return "x"`, `return "x"`},
		"a.unknown1": {`return`, `return`},
	} {
		var b strings.Builder
		for _, s := range syntax.Lines(name, []string{tt.line})[0] {
			if s.Class == syntax.Plain {
				b.WriteString(s.Text)
				continue
			}
			b.WriteString("[" + string(s.Class) + " " + s.Text + "]")
		}
		if got := b.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func joined(spans [][]syntax.Span) string {
	var lines []string
	for _, l := range spans {
		text := ""
		for _, s := range l {
			text += s.Text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// No text loses, gains or moves a byte, in whatever language it is read.
func TestSpansAreTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a.go", "a.py", "a.html", "a.md", "a.sh", "a.json", "a.yaml", "a.rs", "a.c", "a.js", "a.php", "a.txt", "Dockerfile"}).Draw(t, "name")
		lines := rapid.SliceOf(rapid.OneOf(
			rapid.StringOfN(rapid.Rune(), 0, 40, -1),
			rapid.SampledFrom([]string{"", "\x1b[2J", "\r", "\xff\xfe", "/*", "*/", "```", "<script>", "'''", `"`, "\t", "func f() {", "<?php", "\x00"}),
		)).Draw(t, "lines")
		for i, l := range lines {
			lines[i] = strings.ReplaceAll(l, "\n", "")
		}
		got := syntax.Lines(name, lines)
		if len(got) != len(lines) || joined(got) != strings.Join(lines, "\n") {
			t.Fatalf("%q became %q", lines, got)
		}
	})
}

// A lexer of the library can match nothing, again and again. Each short text comes back in each language.
func TestEveryLanguageComesToAnEnd(t *testing.T) {
	need.Suite(t, need.CI)
	var all []string
	for r := ' '; r < 0x7f; r++ {
		all = append(all, string(r))
	}
	texts := []string{"é", "`", "!", "\"x", "\\", strings.Join(all, "\n")}
	names := 0
	for _, l := range lexers.GlobalLexerRegistry.Lexers {
		patterns := l.Config().Filenames
		if len(patterns) == 0 {
			continue
		}
		names++
		name := strings.NewReplacer("*", "x", "?", "x").Replace(patterns[0])
		for _, text := range texts {
			if got := syntax.Lines(name, strings.Split(text, "\n")); joined(got) != text {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
	}
	if names < 100 {
		t.Errorf("only %d languages", names)
	}
}

func TestATextThatIsTooLargeIsPlain(t *testing.T) {
	for _, lines := range [][]string{{strings.Repeat("x", 1<<20)}, strings.Split(strings.Repeat("return 1\n", 100_000), "\n")} {
		got := syntax.Lines("a.go", lines)
		if len(got) != len(lines) || len(got[0]) != 1 || got[0][0].Class != syntax.Plain {
			t.Errorf("%d lines became %d, the first %d spans", len(lines), len(got), len(got[0]))
		}
	}
}
