package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// maxLine is the maximum length of a line that a person types.
const maxLine = run.MaxTextBytes + 1

// lineReader reads the lines that a person types. It drops a line that was typed before a
// question was asked, because that line cannot be meant as the answer.
type lineReader struct {
	ended chan struct{}
	lines chan string // holds the line that answers, at most one

	mu     sync.Mutex
	wanted bool
}

func readLines(r io.Reader) *lineReader {
	l := &lineReader{lines: make(chan string, 1), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		scan := bufio.NewScanner(r)
		scan.Buffer(make([]byte, 0, 4096), maxLine)
		for scan.Scan() {
			l.takeLine(strings.TrimSpace(scan.Text()))
		}
	}()
	return l
}

func (l *lineReader) takeLine(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted {
		l.wanted = false
		l.lines <- line
	}
}

// wantLine sets whether a question is about to be asked, which the next line answers. It drops a
// line that was not taken.
func (l *lineReader) wantLine(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted = yes
	select {
	case <-l.lines:
	default:
	}
}

// nextLine waits for the wanted line. The error is errUnanswered at the end of the input.
func (l *lineReader) nextLine(ctx context.Context) (string, error) {
	defer l.wantLine(false)
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case line := <-l.lines:
		return line, nil
	case <-l.ended:
	}
	select {
	case line := <-l.lines:
		return line, nil
	default:
		return "", errUnanswered
	}
}

// person decides at the terminal.
type person struct {
	screen *terminal.Screen
	lines  *lineReader
	name   string
	// diff returns the patch of an approval, safe for a terminal, and reports whether it is
	// whole.
	diff func(run.PendingApproval) (text string, whole bool)
}

// shownLines is the number of lines of a diff that are shown unless the person asks for more.
const shownLines = 60

// approve shows the patch and asks. Only y and yes mean yes. Everything else means no, and
// approve then asks for the reason.
func (p *person) approve(ctx context.Context, a run.PendingApproval) (run.Decision, error) {
	d := run.Decision{ApprovalID: a.ApprovalID, By: p.name}
	p.showDiff(a, shownLines)
	for _, line := range baselineLines(a) {
		p.screen.Line(p.screen.Dim("  " + line))
	}
	p.printConsequence("yes", a.Next.Approve)
	p.printConsequence("no", a.Next.Reject)
	question, choices := "Apply this patch?", "[y]es, [n]o, [d]iff: "
	if a.Permission != nil {
		question, choices = "Allow it?", "[y]es, [s]ession: yes and its like for this session, [n]o, [d]etails: "
	}
	for {
		line, err := p.askLine(ctx, question, choices)
		switch {
		case err != nil:
			return d, err
		case isYes(line):
			d.Decision = run.Approve
			return d, nil
		case a.Permission != nil && (line == "s" || line == "session"):
			d.Decision, d.Session = run.Approve, true
			return d, nil
		case line == "d" || line == "diff" || line == "details":
			p.showDiff(a, 0)
			continue
		}
		reason, err := p.askLine(ctx, "Why not?", "The model reads it. Enter: no reason, b: back to the question: ")
		if err != nil {
			return d, err
		}
		if isYes(reason) || reason == "b" { // a yes is no reason: ask the question again
			continue
		}
		d.Decision, d.Reason = run.Reject, reason
		return d, nil
	}
}

// baselineLines tell at a gate what the checks said before the patch.
func baselineLines(a run.PendingApproval) []string {
	var lines []string
	if a.Baseline != "" {
		lines = append(lines, "baseline: "+story.OneLine(a.Baseline, 300))
	}
	for _, c := range a.Before {
		lines = append(lines, "failed before, too: "+story.OneLine(c, 160))
	}
	return lines
}

// askLine prints a question and waits for one line.
func (p *person) askLine(ctx context.Context, question, choices string) (string, error) {
	p.lines.wantLine(true)
	p.screen.Prompt("  " + p.screen.Wait(question+" ") + p.screen.Dim(choices))
	line, err := p.lines.nextLine(ctx)
	if err != nil {
		p.screen.Line("")
	}
	return line, err
}

// printConsequence prints the consequence of a way to settle the wait.
func (p *person) printConsequence(way, to string) {
	if to != "" {
		p.screen.Line(p.screen.Dim("  " + way + " → " + to))
	}
}

func isYes(line string) bool {
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes")
}

// showDiff prints at most limit lines of the diff. A limit of zero prints all.
func (p *person) showDiff(a run.PendingApproval, limit int) {
	text, whole := p.diff(a)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	more := 0
	if limit > 0 && len(lines) > limit {
		more = len(lines) - limit
		lines = lines[:limit]
	}
	p.screen.Line("")
	for _, line := range lines {
		p.screen.Line("    " + p.screen.Diff(line))
	}
	switch {
	case more > 0:
		p.screen.Line(p.screen.Dim("    … " + plural(more, "more line", "more lines") + ", d shows all"))
	case !whole:
		p.screen.Line(p.screen.Dim("    … this is its head: all of it is in the run's directory on the worker's host"))
	}
	if a.Unboxed {
		p.screen.Line("  " + p.screen.Wait("sandbox off: ") + run.Unboxed)
	}
	p.screen.Line("")
}

// answer asks until the person types something.
func (p *person) answer(ctx context.Context, q run.PendingQuestion) (run.Reply, error) {
	for _, w := range q.Next.Ways() {
		p.printConsequence(w.Do, w.Leads)
	}
	for {
		line, err := p.askLine(ctx, "Your answer:", "")
		if err != nil {
			return run.Reply{}, err
		}
		if line != "" {
			return run.Reply{QuestionID: q.QuestionID, Text: line, By: p.name}, nil
		}
	}
}

// tellEvents returns a function that prints a run's events as a story.
func (c *cli) tellEvents(screen *terminal.Screen, id run.ID) func(run.Event) error {
	t := &story.Teller{Style: screen.Style, Report: c.reportsOf(id)}
	return func(e run.Event) error {
		for _, line := range t.Tell(e) {
			screen.Line(line)
		}
		return nil
	}
}
