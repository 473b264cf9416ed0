package answer

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// parseUndeclared reads an answer without a result block. It is a PATCH if it has a diff; otherwise it has
// no type.
func (p *parser) parseUndeclared() (Answer, error) {
	diff, err := p.findLoose()
	if err != nil {
		return Answer{}, err
	}
	if diff == nil {
		return Answer{}, newError(NoType, "the answer is not a PATCH, ASK or NOOP: give a result block between %s and %s, and for a PATCH a unified diff between %s and %s",
			resultStart, resultEnd, patchBegin, patchEnd+udiff.Hint(p.text))
	}
	return Answer{Kind: Patch, Summary: p.summarizeProse(), Diff: diff}, nil
}

// findLoose finds a diff that has no markers: in fences, else bare in the prose. It returns nil if there
// is none.
func (p *parser) findLoose() ([]byte, *Error) {
	fenced, rest, err := p.findFences()
	if err != nil {
		return nil, err
	}
	if len(fenced) > 0 {
		p.prose = rest
		return p.joinDiffs(fenced)
	}
	return p.findBare()
}

// fence is a line of three or more back-ticks or tildes.
type fence struct {
	prefix string // the blanks of a list item and the marks of a quote before it
	mark   byte
	n      int
	info   string // lower-case
}

// maxPrefix bounds fence.prefix.
const maxPrefix = 24

// fenceAt returns the fence on line i. ok is false if the line is no fence.
func (p *parser) fenceAt(i int) (fence, bool) {
	if i >= len(p.lines) {
		return fence{}, false
	}
	line := bytes.TrimRight(p.lines[i], " \t\r\n")
	text := bytes.TrimLeft(line, " \t>")
	prefix := string(line[:len(line)-len(text)])
	if len(text) == 0 || text[0] != '`' && text[0] != '~' || len(prefix) > maxPrefix {
		return fence{}, false
	}
	f := fence{prefix: prefix, mark: text[0]}
	f.n = len(text) - len(bytes.TrimLeft(text, string(f.mark)))
	f.info = strings.ToLower(strings.TrimSpace(string(text[f.n:])))
	return f, f.n >= 3 && !(f.mark == '`' && strings.Contains(f.info, "`"))
}

// linesInside returns the lines between a fence and its end: without the prefix of the fence if the first line that is not
// blank has it, as they are otherwise. ok is false if only some lines have it.
func (p *parser) linesInside(f fence, from, to int) (lines [][]byte, ok bool) {
	lines = p.lines[from:to]
	first := slices.IndexFunc(lines, func(l []byte) bool { return len(bytes.TrimSpace(l)) > 0 })
	if f.prefix == "" || first < 0 || !bytes.HasPrefix(lines[first], []byte(f.prefix)) {
		return lines, true
	}
	out := make([][]byte, len(lines))
	for i, l := range lines {
		rest, has := bytes.CutPrefix(l, []byte(f.prefix))
		if !has && len(bytes.TrimLeft(l, " \t>\r\n")) > 0 {
			return nil, false
		}
		if !has {
			rest = l[len(bytes.TrimRight(l, "\r\n")):]
		}
		out[i] = rest
	}
	return out, true
}

// isClosedBy reports whether g closes f.
func (f fence) isClosedBy(g fence) bool {
	return g.prefix == f.prefix && g.mark == f.mark && g.n >= f.n && g.info == ""
}

// kind tells fences apart that cannot close each other.
func (f fence) kind() string { return f.prefix + string(f.mark) }

// saysDiff reports whether the fence's first word is a name of the format.
func (f fence) saysDiff() bool {
	word, _, _ := strings.Cut(f.info, " ")
	return slices.Contains([]string{"diff", "patch", "udiff", "unidiff"}, word)
}

// maxScans bounds how often all the rest of an answer is read for one fence. An answer may hold any number of them.
const maxScans = 8

// closer is a fence that can close others.
type closer struct{ line, n int }

// listClosers returns the fences of each kind that can close others, from the end of the answer on. It leaves out those
// that are no longer than one after them.
func (p *parser) listClosers() map[string][]closer {
	all := make(map[string][]closer)
	for i := range slices.Backward(p.lines) {
		f, ok := p.fenceAt(i)
		if !ok || f.info != "" {
			continue
		}
		if known := all[f.kind()]; len(known) == 0 || known[len(known)-1].n < f.n {
			all[f.kind()] = append(known, closer{i, f.n})
		}
	}
	return all
}

// isClosed reports whether a line after start closes the fence that line start opens.
func (p *parser) isClosed(start int, f fence) bool {
	if p.closers == nil {
		p.closers = p.listClosers()
	}
	all := p.closers[f.kind()]
	k, _ := slices.BinarySearchFunc(all, f.n, func(c closer, n int) int { return cmp.Compare(c.n, n) })
	return k < len(all) && all[k].line > start
}

// findFenceEnd returns the line before limit that closes the fence that line start opens: the first such
// line at which no hunk lacks lines, else the first of all, or -1 if there is none. After maxScans fences without a
// line at which no hunk lacks lines it returns the first of all at once.
func (p *parser) findFenceEnd(start, limit int, f fence) int {
	if !p.isClosed(start, f) {
		return -1
	}
	first := -1
	var t udiff.Tracker
	for i := start + 1; i < limit; i++ {
		g, ok := p.fenceAt(i)
		switch closes := ok && f.isClosedBy(g); {
		case closes && (!t.IsOpen() || p.scans >= maxScans):
			return i
		case closes && first < 0:
			first = i
		}
		t.Add(bytes.TrimPrefix(p.lines[i], []byte(f.prefix)))
	}
	p.scans++
	return first
}

// findFences returns the diffs in fences, and the lines of prose outside of all fences. After maxScans fences without
// an end it takes others without an end for prose, unless they say that they hold a diff. Behind the header of a bare
// diff a fence that is indented is a line of that diff.
func (p *parser) findFences() (diffs [][]byte, rest []int, err *Error) {
	open := make(map[string]int) // the shortest fence of each kind that is known to have no end
	judged, bare := 0, false
	for k := 0; k < len(p.prose); k++ {
		i := p.prose[k]
		f, ok := p.fenceAt(i)
		if n, known := open[f.kind()]; !ok || known && f.n >= n || bare && f.prefix != "" {
			bare = bare || p.startsBare(i)
			rest = append(rest, i)
			continue
		}
		end := p.findFenceEnd(i, len(p.lines), f)
		if end < 0 {
			open[f.kind()] = f.n
			if judged++; judged <= maxScans || f.saysDiff() {
				end, err = p.judgeOpenFence(i, f)
			}
			if err != nil {
				return nil, nil, err
			}
			if end < 0 {
				rest = append(rest, i)
				continue
			}
		}
		lines, whole := p.linesInside(f, i+1, end)
		if !whole {
			return nil, nil, newError(Contradiction, "some lines in the fence on line %d have the indentation of the fence and others do not; put the diff between %s and %s", i+1, patchBegin, patchEnd)
		}
		if diff := bytes.Join(lines, nil); isDiff(f, diff) {
			diffs = append(diffs, diff)
			p.taken = append(p.taken, block{i, end + 1})
		}
		for k+1 < len(p.prose) && p.prose[k+1] <= end {
			k++
		}
	}
	return diffs, rest, nil
}

// startsBare reports whether the header of a diff begins on line i.
func (p *parser) startsBare(i int) bool {
	return udiff.StartsWithHeader(bytes.Join(p.lines[i:min(len(p.lines), i+3)], nil))
}

// judgeOpenFence decides about a fence without end. It is the end of the answer if it holds a whole diff
// and the provider said that it finished. It is prose, -1, if it holds no diff.
func (p *parser) judgeOpenFence(start int, f fence) (end int, err *Error) {
	lines, whole := p.linesInside(f, start+1, len(p.lines))
	diff := bytes.Join(lines, nil)
	switch {
	case !whole || !isDiff(f, diff):
		return -1, nil
	case !p.finished || !udiff.IsComplete(diff):
		return -1, newError(Truncated, "the fence on line %d is not closed, so the diff may be cut; give it again, complete", start+1)
	}
	return len(p.lines), nil
}

// isDiff reports whether a fence holds a diff: its info says so, or its text has the headers of one. What a model thinks
// is none.
func isDiff(f fence, text []byte) bool {
	return f.saysDiff() || udiff.LooksLikeDiff(text) && !slices.Contains([]string{"think", "thinking", "thought", "thoughts", "reasoning"}, f.info)
}

// alternatives matches prose that offers a choice between diffs, or takes one back.
var alternatives = regexp.MustCompile(`(?i)\b(?:options?|alternatives?|alternatively|instead|either|versions?|variants?|drafts?|wrong|wait|actually|or)\b`)

// retraction matches prose that takes back what stands before it.
var retraction = regexp.MustCompile(`(?i)\bwait ?[,.!…—–]|\boops\b|\bscratch that\b|\b(?:ignore|disregard|forget) (?:the|that|my) (?:above|previous|first|last|earlier)\b|\bthat(?:'s| is| was) (?:the )?(?:wrong|incorrect|not right)\b|\bcorrected (?:diff|patch|version)\b`)

// joinDiffs makes one patch of several diffs. Repeated diffs count once. The others have to change different files, or
// continue further down in the same file, and the prose must not offer a choice between them.
func (p *parser) joinDiffs(diffs [][]byte) ([]byte, *Error) {
	var distinct [][]byte
	known := make(map[string]bool)
	for _, d := range diffs {
		if text := string(bytes.TrimSpace(d)); !known[text] {
			known[text] = true
			distinct = append(distinct, d)
		}
	}
	if len(distinct) == 1 {
		return distinct[0], nil
	}
	if said := retraction.FindString(p.proseText()); said != "" {
		return nil, newError(ManyPatches, "the answer has %d diffs, and its text (%q) may take one back; put the whole patch into one block", len(distinct), said)
	}
	reached := make(map[string]int) // the line that the last hunk of a file begins at
	var out []byte
	for _, d := range distinct {
		spans := udiff.Spans(d)
		further := !slices.ContainsFunc(spans, func(s udiff.Span) bool {
			last, again := reached[s.Name]
			return again && (s.First <= last || last < 0 || s.First < 0 || alternatives.MatchString(p.proseText()))
		})
		if len(spans) == 0 || !further {
			return nil, newError(ManyPatches, "the answer has %d diffs that do not form one patch: two change the same file, or one names no file; put the whole patch into one block", len(distinct))
		}
		for _, s := range spans {
			reached[s.Name] = s.Last
		}
		out = append(out, d...)
	}
	return out, nil
}

// findBare returns the text from the first header of a diff on.
func (p *parser) findBare() ([]byte, *Error) {
	for k, i := range p.prose {
		if !p.startsBare(i) {
			continue
		}
		end := i
		for end < len(p.lines) && p.markerAt(end) == "" {
			end++
		}
		diff := bytes.Join(p.lines[i:end], nil)
		if !p.finished && !udiff.IsComplete(diff) {
			return nil, newError(Truncated, "the last hunk of the diff is shorter than its header says, so the answer may be incomplete; put the diff between %s and %s", patchBegin, patchEnd)
		}
		p.prose = p.prose[:k]
		p.taken = append(p.taken, block{i, end})
		return diff, nil
	}
	return nil, nil
}
