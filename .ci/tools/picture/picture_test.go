package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestTheScreenKeepsWhatALineShowed(t *testing.T) {
	s := newScreen(10)
	for i, text := range []string{"\r\x1b[K  \x1b[36m⠙\x1b", "[0m works", "\r\x1b[K  \x1b[32m✓\x1b[0m done\r\n", "0123456789abc\r\na\tb", "\xe2\x96", "\xb8\r\n"} {
		s.write([]byte(text), time.Duration(i)*time.Second)
	}
	var got []string
	for _, l := range s.lines[:len(s.lines)-1] {
		got = append(got, l.text())
	}
	if want := "  ✓ done|0123456789|abc|a       b▸"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
	first := s.lines[0]
	if len(first.states) != 3 || textOf(first.states[1].cells) != "  ⠙ works" || first.states[1].at != time.Second || first.final().cells[2].style != "g" {
		t.Errorf("%+v", first)
	}
}

func TestThePictureIsWholeWithoutPlaying(t *testing.T) {
	s := newScreen(columns)
	for i, text := range []string{"before\r\n  Apply this patch? ", "y\r\n", "\r\x1b[K  ⠙ a <moving> line", "\r\x1b[K  \x1b[1mone & two\x1b[0m\r\n", "    in attempt 2.\r\nafter\r\n"} {
		s.write([]byte(text), time.Duration(i)*time.Hour)
	}
	part, err := choose(s.lines)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(render(part))
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
	}
	for text, times := range map[string]int{`class="l"`: 3, `class="m"`: 2, "  Apply this patch? y<": 1, `<tspan class="b">one &amp; two</tspan>`: 1, "a &lt;moving&gt; line": 1, "before": 0, "after": 0, "animation-delay:2.40s": 1, "animation-delay:3.00s": 0} {
		if n := strings.Count(svg, text); n != times {
			t.Errorf("%d times %q, want %d:\n%s", n, text, times, svg)
		}
	}
	if _, err := choose(s.lines[:1]); err == nil {
		t.Error("a picture of nothing")
	}
}
