package answer

import (
	"bytes"
	"cmp"
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
		return Answer{}, newError(NoType, "the answer is no PATCH, ASK or NOOP: give a result block between %s and %s, and for a PATCH a unified diff between %s and %s",
			resultStart, resultEnd, patchBegin, patchEnd)
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
		return joinDiffs(fenced)
	}
	return p.findBare()
}

// fence is a line of three or more back-ticks or tildes at column 0.
type fence struct {
	mark byte
	n    int
	info string // lower-case
}

// fenceAt returns the fence on line i. ok is false if the line is no fence.
func (p *parser) fenceAt(i int) (fence, bool) {
	if i >= len(p.lines) {
		return fence{}, false
	}
	line := bytes.TrimRight(p.lines[i], " \t\r\n")
	if len(line) == 0 || line[0] != '`' && line[0] != '~' {
		return fence{}, false
	}
	f := fence{mark: line[0]}
	f.n = len(line) - len(bytes.TrimLeft(line, string(f.mark)))
	f.info = strings.ToLower(strings.TrimSpace(string(line[f.n:])))
	return f, f.n >= 3 && !(f.mark == '`' && strings.Contains(f.info, "`"))
}

// isClosedBy reports whether g closes f.
func (f fence) isClosedBy(g fence) bool { return g.mark == f.mark && g.n >= f.n && g.info == "" }

// saysDiff reports whether the fence's first word is a name of the format.
func (f fence) saysDiff() bool {
	word, _, _ := strings.Cut(f.info, " ")
	return slices.Contains([]string{"diff", "patch", "udiff", "unidiff"}, word)
}

// maxScans bounds how often all the rest of an answer is read for one fence. An answer may hold any number of them.
const maxScans = 8

// closer is a fence that can close others.
type closer struct{ line, n int }

// listClosers returns the fences of each mark that can close others, from the end of the answer on. It leaves out those
// that are no longer than one after them.
func (p *parser) listClosers() map[byte][]closer {
	all := make(map[byte][]closer)
	for i := range slices.Backward(p.lines) {
		f, ok := p.fenceAt(i)
		if !ok || f.info != "" {
			continue
		}
		if known := all[f.mark]; len(known) == 0 || known[len(known)-1].n < f.n {
			all[f.mark] = append(known, closer{i, f.n})
		}
	}
	return all
}

// isClosed reports whether a line after start closes the fence that line start opens.
func (p *parser) isClosed(start int, f fence) bool {
	if p.closers == nil {
		p.closers = p.listClosers()
	}
	all := p.closers[f.mark]
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
		t.Add(p.lines[i])
	}
	p.scans++
	return first
}

// findFences returns the diffs in fences, and the lines of prose outside of all fences. After maxScans fences without
// an end it takes others without an end for prose, unless they say that they hold a diff.
func (p *parser) findFences() (diffs [][]byte, rest []int, err *Error) {
	open := make(map[byte]int) // the shortest fence of each mark that is known to have no end
	judged := 0
	for k := 0; k < len(p.prose); k++ {
		i := p.prose[k]
		f, ok := p.fenceAt(i)
		if n, known := open[f.mark]; !ok || known && f.n >= n {
			rest = append(rest, i)
			continue
		}
		end := p.findFenceEnd(i, len(p.lines), f)
		if end < 0 {
			open[f.mark] = f.n
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
		if diff := bytes.Join(p.lines[i+1:end], nil); isDiff(f, diff) {
			diffs = append(diffs, diff)
		}
		for k+1 < len(p.prose) && p.prose[k+1] <= end {
			k++
		}
	}
	return diffs, rest, nil
}

// judgeOpenFence decides about a fence without end. It is the end of the answer if it holds a whole diff
// and the provider said that it finished. It is prose, -1, if it holds no diff.
func (p *parser) judgeOpenFence(start int, f fence) (end int, err *Error) {
	diff := bytes.Join(p.lines[start+1:], nil)
	switch {
	case !isDiff(f, diff):
		return -1, nil
	case !p.finished || !udiff.IsComplete(diff):
		return -1, newError(Truncated, "the fence on line %d is not closed, so the diff may be cut; give it again, complete", start+1)
	}
	return len(p.lines), nil
}

// isDiff reports whether a fence holds a diff: its info says so, or its text has the headers of one.
func isDiff(f fence, text []byte) bool {
	return f.saysDiff() || udiff.LooksLikeDiff(text)
}

// joinDiffs makes one patch of several diffs. Repeated diffs count once, and the others have to change
// different files.
func joinDiffs(diffs [][]byte) ([]byte, *Error) {
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
	seen := make(map[string]bool)
	var out []byte
	for _, d := range distinct {
		names := udiff.SectionNames(d)
		if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return seen[n] }) {
			return nil, newError(ManyPatches, "the answer has %d diffs that are not one patch: two are about the same file, or one names none; put the whole patch into one block", len(distinct))
		}
		for _, n := range names {
			seen[n] = true
		}
		out = append(out, d...)
	}
	return out, nil
}

// findBare returns the text from the first header of a diff on.
func (p *parser) findBare() ([]byte, *Error) {
	for k, i := range p.prose {
		text := bytes.Join(p.lines[i:min(len(p.lines), i+3)], nil)
		if !udiff.StartsWithHeader(text) {
			continue
		}
		end := i
		for end < len(p.lines) && p.markerAt(end) == "" {
			end++
		}
		diff := bytes.Join(p.lines[i:end], nil)
		if !p.finished && !udiff.IsComplete(diff) {
			return nil, newError(Truncated, "the last hunk of the diff is shorter than its header says, and nothing shows that the answer is complete; put the diff between %s and %s", patchBegin, patchEnd)
		}
		p.prose = p.prose[:k]
		return diff, nil
	}
	return nil, nil
}
