package udiff

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
)

// contextLines is the number of context lines in a written hunk.
const contextLines = 3

// Text is a text split into lines for comparing and writing. The last line may lack its line
// feed; it then differs from the same line with one.
type Text struct {
	Lines [][]byte // with their line feeds
}

// NewText splits text into lines.
func NewText(text []byte) Text {
	if len(text) == 0 {
		return Text{}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return Text{lines}
}

// AppendHunks appends the hunks that turn a into b, with three lines of context.
func AppendHunks(out []byte, a, b Text, edits []Edit) []byte {
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].A-edits[n-1].AEnd <= 2*contextLines {
			n++
		}
		out = appendHunk(out, a, b, edits[:n])
		edits = edits[n:]
	}
	return out
}

func appendHunk(out []byte, a, b Text, edits []Edit) []byte {
	first, last := edits[0], edits[len(edits)-1]
	lead := min(contextLines, first.A)
	trail := min(contextLines, len(a.Lines)-last.AEnd)
	from, to := first.A-lead, last.AEnd+trail
	out = append(out, "@@ -"...)
	out = appendRange(out, from, to)
	out = append(out, " +"...)
	out = appendRange(out, first.B-lead, last.BEnd+trail)
	out = append(out, " @@\n"...)
	for _, e := range edits {
		out = appendLines(out, Context, a.Lines[from:e.A])
		out = appendLines(out, Delete, a.Lines[e.A:e.AEnd])
		out = appendLines(out, Insert, b.Lines[e.B:e.BEnd])
		from = e.AEnd
	}
	return appendLines(out, Context, a.Lines[from:to])
}

// appendRange appends the lines [from, to) in the form of a header: counted from 1, with the number of
// lines unless it is 1. An empty range names the line before it.
func appendRange(out []byte, from, to int) []byte {
	n := to - from
	if n > 0 {
		from++
	}
	out = strconv.AppendInt(out, int64(from), 10)
	if n == 1 {
		return out
	}
	out = append(out, ',')
	return strconv.AppendInt(out, int64(n), 10)
}

func appendLines(out []byte, op Op, lines [][]byte) []byte {
	for _, l := range lines {
		out = append(out, byte(op))
		out = append(out, l...)
		if !bytes.HasSuffix(l, []byte("\n")) {
			out = append(out, "\n\\ No newline at end of file\n"...)
		}
	}
	return out
}

// Header holds the lines before the hunks of a file.
type Header struct {
	Old, New         string // names without prefix; both are set, also for a file that is created or removed
	OldMode, NewMode string // git's six digits; empty when there is no such file
	OldID, NewID     string // full blob ids; empty when there is no such file
	Rename, Copy     bool
}

// nullID is the blob id of no file.
const nullID = "0000000000000000000000000000000000000000"

// Append writes the header in git's form. hunks says whether any follow.
func (h Header) Append(out []byte, hunks bool) []byte {
	old, new := QuoteName("a/"+h.Old), QuoteName("b/"+h.New)
	out = fmt.Appendf(out, "diff --git %s %s\n", old, new)
	switch {
	case h.OldMode == "":
		out = fmt.Appendf(out, "new file mode %s\n", h.NewMode)
	case h.NewMode == "":
		out = fmt.Appendf(out, "deleted file mode %s\n", h.OldMode)
	case h.OldMode != h.NewMode:
		out = fmt.Appendf(out, "old mode %s\nnew mode %s\n", h.OldMode, h.NewMode)
	}
	if h.Rename {
		out = fmt.Appendf(out, "rename from %s\nrename to %s\n", QuoteName(h.Old), QuoteName(h.New))
	}
	if h.Copy {
		out = fmt.Appendf(out, "copy from %s\ncopy to %s\n", QuoteName(h.Old), QuoteName(h.New))
	}
	if h.OldID != h.NewID {
		out = h.appendIndex(out)
	}
	if !hunks {
		return out
	}
	return fmt.Appendf(out, "--- %s\n+++ %s\n", h.nameField(old, h.OldMode), h.nameField(new, h.NewMode))
}

func (h Header) appendIndex(out []byte) []byte {
	old, new := cmp.Or(h.OldID, nullID), cmp.Or(h.NewID, nullID)
	out = fmt.Appendf(out, "index %s..%s", old, new)
	if h.OldMode == h.NewMode {
		out = append(out, " "+h.OldMode...)
	}
	return append(out, '\n')
}

// nameField returns a name for a --- or +++ line. A tab ends a name that holds a blank.
func (h Header) nameField(quoted, mode string) string {
	if mode == "" {
		return Null
	}
	for i := range len(quoted) {
		if quoted[i] == ' ' && quoted[0] != '"' {
			return quoted + "\t"
		}
	}
	return quoted
}
