package proc_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

func TestHeadTailText(t *testing.T) {
	for name, test := range map[string]struct {
		in         string
		head, tail string
		omitted    int64
	}{
		"nothing":                               {"", "", "", 0},
		"fits into the head":                    {"abcd", "abcd", "", 0},
		"fits into both":                        {"abcdefgh", "abcd", "efgh", 0},
		"one byte too long":                     {"abcdefghi", "abcd", "fghi", 1},
		"much too long":                         {"abcd" + strings.Repeat("-", 1000) + "wxyz", "abcd", "wxyz", 1000},
		"character on the seam":                 {"abcäefg", "abc", "äefg", 0},
		"characters on both cuts":               {"abcä----äxyz", "abc", "xyz", 8},
		"invalid UTF-8":                         {"a\xff\xfeb", "a?b", "", 0},
		"NUL and other controls":                {"a\x00\x07\x7f", "a???", "", 0},
		"line ends and tabs":                    {"\r\n\r\t", "\n\n\t", "", 0},
		"colour":                                {"\x1b[31m", "?[31", "m", 0},
		"character that never ends, at the end": {"abc\xc3", "abc?", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := proc.NewHeadTail(4, 4)
			fmt.Fprint(h, test.in)
			head, tail, omitted := h.Text()
			if head != test.head || tail != test.tail || omitted != test.omitted || h.Bytes() != int64(len(test.in)) {
				t.Errorf("got %q %q %d of %d; want %q %q %d", head, tail, omitted, h.Bytes(), test.head, test.tail, test.omitted)
			}
		})
	}
}

func TestHeadTailDropsTerminalSequences(t *testing.T) {
	h := proc.NewHeadTail(100, 0)
	fmt.Fprint(h, "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(B")
	if got := h.String(); got != "red link ?(B" {
		t.Errorf("got %q", got)
	}
}

// What begins like a terminal sequence swallows neither other lines nor a long text.
func TestHeadTailKeepsWhatIsNoTerminalSequence(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for in, want := range map[string]string{
		"\x1b]a\n--- FAIL: TestX\n\x07":      "?]a\n--- FAIL: TestX\n?",
		"\x1b]a\r\n--- FAIL: TestX\n\x1b\\b": "?]a\n--- FAIL: TestX\n?\\b",
		"\x1b]a\r--- FAIL: TestX\r\x07":      "?]a\n--- FAIL: TestX\n?",
		"\x1b]" + long + "\x07":              "?]" + long + "?",
	} {
		h := proc.NewHeadTail(2000, 0)
		fmt.Fprint(h, in)
		if got := h.String(); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestHeadTailSaysWhatIsLeftOut(t *testing.T) {
	h := proc.NewHeadTail(2, 2)
	fmt.Fprint(h, "abcdefg")
	if got := h.String(); got != "ab\n[... 3 bytes left out ...]\nfg" {
		t.Errorf("got %q", got)
	}
}

func TestHeadTailKeepsEveryByteOfARawText(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b]a\rb\n\x07\xff": "\x1b]a\rb\n\x07\xff",
		"+abcdefghi-jklmnop":  "+abcdefg\n[... 2 bytes left out ...]-jklmnop",
	} {
		h := proc.NewHeadTail(8, 8)
		fmt.Fprint(h, in)
		if got := h.RawText(); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestHeadTailOfAnyWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxHead, maxTail := rapid.IntRange(0, 20).Draw(t, "head"), rapid.IntRange(0, 20).Draw(t, "tail")
		writes := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,50}`)).Draw(t, "writes")
		h := proc.NewHeadTail(maxHead, maxTail)
		for _, w := range writes {
			if n, err := h.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatalf("write: %d, %v", n, err)
			}
		}
		all := strings.Join(writes, "")
		head, tail, omitted := h.Text()
		if !strings.HasPrefix(all, head) || !strings.HasSuffix(all, tail) || len(head)+len(tail)+int(omitted) != len(all) {
			t.Fatalf("%q became %q, %q and %d", all, head, tail, omitted)
		}
		if omitted > 0 && (len(head) != maxHead || len(tail) != maxTail) {
			t.Fatalf("left out %d with %q, %q kept", omitted, head, tail)
		}
	})
}

func TestHeadTailOfAnyBytesIsTextWithinItsSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := proc.NewHeadTail(16, 16)
		for _, w := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "writes") {
			h.Write(w)
		}
		head, tail, _ := h.Text()
		if text := head + tail; !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\r") || len(text) > 32 {
			t.Fatalf("%q", text)
		}
	})
}
