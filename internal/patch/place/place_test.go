package place_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch/place"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// hunk is a hunk whose header names the line start, 0 for none, with right counts.
func hunk(start int, text string) place.Hunk {
	var lines []udiff.Line
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		lines = append(lines, udiff.Line{Op: udiff.Op(l[0]), Text: []byte(l[1:])})
	}
	return place.Hunk{Start: start - 1, Counted: true, Readings: []udiff.Reading{{Lines: lines}}}
}

func TestPlace(t *testing.T) {
	const letters = "a\nb\nc\nd\ne\nf\ng\nh\n"
	repeated := strings.Repeat("x\ny\nz\n", 4)
	for _, tt := range []struct {
		name, file string
		hunks      []place.Hunk
		at         []int
		levels     []place.Level
		reason     place.Reason
		places     []int
	}{
		{name: "where it says", file: letters, hunks: []place.Hunk{hunk(2, " b\n-c\n+C\n d\n")}, at: []int{1}, levels: []place.Level{place.Exact}},
		{name: "elsewhere", file: letters, hunks: []place.Hunk{hunk(7, " b\n-c\n+C\n d\n")}, at: []int{1}, levels: []place.Level{place.Exact}},
		{name: "no number", file: letters, hunks: []place.Hunk{hunk(0, " b\n-c\n+C\n d\n")}, at: []int{1}, levels: []place.Level{place.Exact}},
		{name: "but for carriage returns", file: "a\r\nb\r\nc\r\n", hunks: []place.Hunk{hunk(1, " a\n-b\n+B\n")}, at: []int{0}, levels: []place.Level{place.LineEnds}},
		{name: "but for trailing blanks", file: "a \nb\t\nc\n", hunks: []place.Hunk{hunk(1, " a\n-b\n+B\n")}, at: []int{0}, levels: []place.Level{place.Trailing}},
		{name: "but for blanks", file: "\ta  x\n\tb\nc\n", hunks: []place.Hunk{hunk(1, " a x\n-b\n+B\n")}, at: []int{0}, levels: []place.Level{place.Blanks}},
		{name: "a stricter level elsewhere wins", file: "\tb\n\tc\nb\nc\n", hunks: []place.Hunk{hunk(1, " b\n-c\n+C\n")}, at: []int{2}, levels: []place.Level{place.Exact}},
		{name: "punctuation in a deleted line is not overlooked", file: "say \"a\"\nb\nc\n", hunks: []place.Hunk{hunk(1, "-say \u201ca\u201d\n+x\n b\n c\n")}, reason: place.DeletedDiffers},
		{name: "several places, one where it says", file: repeated, hunks: []place.Hunk{hunk(4, " x\n-y\n+Y\n z\n")}, at: []int{3}, levels: []place.Level{place.Exact}},
		{name: "several places, one within three lines and the others far", file: "x\ny\n" + strings.Repeat("-\n", 40) + "x\ny\n", hunks: []place.Hunk{hunk(3, " x\n-y\n+Y\n")}, at: []int{0}, levels: []place.Level{place.Exact}},
		{name: "several places, none near", file: "x\ny\n" + strings.Repeat("-\n", 40) + "x\ny\n", hunks: []place.Hunk{hunk(12, " x\n-y\n+Y\n")}, reason: place.Several, places: []int{0, 42}},
		{name: "several places and no number", file: repeated, hunks: []place.Hunk{hunk(0, " x\n-y\n+Y\n z\n")}, reason: place.Several, places: []int{0, 3, 6, 9}},
		{name: "several hunks that fill all places in order", file: repeated, hunks: []place.Hunk{hunk(0, " x\n-y\n+1\n"), hunk(0, " x\n-y\n+2\n"), hunk(0, " x\n-y\n+3\n"), hunk(0, " x\n-y\n+4\n")}, at: []int{0, 3, 6, 9}, levels: []place.Level{0, 0, 0, 0}},
		{name: "order leaves one place", file: "x\ny\nm\nx\ny\n", hunks: []place.Hunk{hunk(0, "-m\n+M\n"), hunk(0, " x\n-y\n+Y\n")}, at: []int{2, 3}, levels: []place.Level{0, 0}},
		{name: "full context before and none after is the end of the file", file: "b\nc\nd\n-\n" + "b\nc\nd\n", hunks: []place.Hunk{hunk(1, " b\n c\n d\n+e\n")}, reason: place.Several, places: []int{0, 4}},
		{name: "a deleted line differs", file: letters, hunks: []place.Hunk{hunk(2, " b\n-X\n+C\n d\n")}, reason: place.DeletedDiffers},
		{name: "context differs next to an addition", file: letters, hunks: []place.Hunk{hunk(2, " b\n X\n+C\n d\n")}, reason: place.NotFound},
		{name: "nothing is there", file: letters, hunks: []place.Hunk{hunk(1, " X\n-Y\n")}, reason: place.NotFound},
		{name: "made already", file: letters, hunks: []place.Hunk{hunk(2, " b\n-X\n+c\n d\n")}, reason: place.Already},
		{name: "added already, at the end of the hunk", file: letters, hunks: []place.Hunk{hunk(2, " b\n+c\n")}, reason: place.Already},
		{name: "added already, at its beginning", file: letters, hunks: []place.Hunk{hunk(3, "+b\n c\n")}, reason: place.Already},
		{name: "only additions", file: letters, hunks: []place.Hunk{hunk(3, "+x\n")}, reason: place.Unanchored},
		{name: "only additions to an empty file", file: "", hunks: []place.Hunk{hunk(1, "+x\n")}, at: []int{0}, levels: []place.Level{place.Exact}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			matches, miss := place.NewFile([]byte(tt.file)).PlaceHunks(tt.hunks)
			if tt.at == nil {
				if miss == nil || miss.Reason != tt.reason || !slices.Equal(miss.Places, tt.places) {
					t.Fatalf("got %+v, %+v; want reason %d at %v", matches, miss, tt.reason, tt.places)
				}
				return
			}
			if miss != nil {
				t.Fatalf("missed: %+v", miss)
			}
			for i, m := range matches {
				if m.At != tt.at[i] || m.Level != tt.levels[i] {
					t.Errorf("hunk %d is at %d, level %d", i+1, m.At, m.Level)
				}
			}
		})
	}
}

func TestMissSaysWhereItDiffers(t *testing.T) {
	_, miss := place.NewFile([]byte("one\ntwo\nthree\nfour\n")).PlaceHunks([]place.Hunk{hunk(1, " one\n two\n drei\n+x\n four\n")})
	if miss == nil || miss.Want == nil || string(miss.Want.Text) != "drei" || miss.At != 2 || miss.Agree != 2 {
		t.Errorf("got %+v", miss)
	}
}

func TestTrustTakesNothingOnTrust(t *testing.T) {
	f := place.NewFile([]byte("a\nb\nc\n"))
	if _, ok := f.PlaceTrusted([]place.Hunk{hunk(2, "-b\n+B\n")}); !ok {
		t.Error("a right hunk was not placed")
	}
	for name, h := range map[string]place.Hunk{"another place": hunk(1, "-b\n+B\n"), "another line": hunk(2, "-x\n+B\n"), "no number": hunk(0, "-b\n+B\n"), "beyond the end": hunk(9, "-b\n+B\n")} {
		if _, ok := f.PlaceTrusted([]place.Hunk{h}); ok {
			t.Errorf("%s was believed", name)
		}
	}
}
