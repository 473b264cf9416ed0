package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// Sizes in pixels.
const (
	lineHeight = 20
	margin     = 18
	titleBar   = 34
	textWidth  = columns * 843 / 100 // of a monospaced font of 14 pixels
)

const (
	stillest  = 600 * time.Millisecond // longest time in which the picture shows nothing new
	frameTime = 190 * time.Millisecond // between two states of a moving line, at least
)

const style = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6dde6;white-space:pre}
.b{font-weight:700;fill:#fff}.d{fill:#98a3b0}.r{fill:#ff8078}.g{fill:#5fd07a}.y{fill:#e8b84b}.c{fill:#5cc9d6}
.l{animation:l 1ms both}.m{opacity:0;animation:m 1s}
@keyframes l{from{opacity:0}}@keyframes m{from,to{opacity:1}}
@media(prefers-reduced-motion:reduce){.l,.m{animation:none}}`

// shorten moves the times so that the first line is there at the beginning, and so that nothing lasts longer
// than stillest.
func shorten(lines []line) []line {
	var times []time.Duration
	for _, l := range lines {
		for _, s := range l.states {
			times = append(times, s.at)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	moved, now := map[time.Duration]time.Duration{}, time.Duration(0)
	for i, at := range times {
		if i > 0 {
			now += min(at-times[i-1], stillest)
		}
		moved[at] = now
	}
	out := make([]line, len(lines))
	for i, l := range lines {
		for _, s := range l.states {
			out[i].states = append(out[i].states, state{moved[s.at], s.cells})
		}
	}
	return out
}

// render draws the lines as a window of a terminal. Each line appears at its time; what it showed before is
// seen for as long as it was shown, and not at all where nothing moves.
func render(lines []line) []byte {
	width, height := textWidth+2*margin, titleBar+len(lines)*lineHeight+margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="t">`+"\n", width, height)
	b.WriteString(`<title id="t">starter demo: kill -9 for the engine and the worker, and the run goes on</title>` + "\n")
	fmt.Fprintf(&b, "<style>%s</style>\n", style)
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%d" height="%d" rx="9" fill="#11161d" stroke="#3b434d"/>`+"\n", width-1, height-1)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="17" r="5.5" fill="%s"/>`, 20+i*19, color)
	}
	fmt.Fprintf(&b, `<text class="d" x="%d" y="22" text-anchor="middle">starter demo</text>`+"\n", width/2)
	for i, l := range lines {
		y := titleBar + i*lineHeight + 15
		drawn := time.Duration(-frameTime)
		for k, s := range l.states[:max(0, len(l.states)-1)] {
			until := l.states[k+1].at
			if len(textOf(s.cells)) == 0 || s.at-drawn < frameTime && k < len(l.states)-2 {
				continue
			}
			for _, later := range l.states[k+1:] { // those that are left out
				if until = later.at; until-s.at >= frameTime {
					break
				}
			}
			drawn = s.at
			fmt.Fprintf(&b, `<text class="m" x="%d" y="%d" style="animation-delay:%s;animation-duration:%s">%s</text>`+"\n", margin, y, seconds(s.at), seconds(until-s.at), spans(s.cells))
		}
		if len(l.states) > 0 && strings.TrimSpace(l.text()) != "" {
			fmt.Fprintf(&b, `<text class="l" x="%d" y="%d" style="animation-delay:%s">%s</text>`+"\n", margin, y, seconds(l.final().at), spans(l.final().cells))
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// spans returns the cells with a tspan for each style.
func spans(cells []cell) string {
	var b strings.Builder
	for len(cells) > 0 {
		n := slices.IndexFunc(cells, func(c cell) bool { return c.style != cells[0].style })
		if n < 0 {
			n = len(cells)
		}
		text := html.EscapeString(textOf(cells[:n]))
		if class := cells[0].style; class != "" {
			text = fmt.Sprintf(`<tspan class="%s">%s</tspan>`, class, text)
		}
		b.WriteString(text)
		cells = cells[n:]
	}
	return cmp.Or(b.String(), " ")
}
