package patch

import (
	"bytes"
	"cmp"
	"fmt"
)

// Limits bound the size of one diff. A zero field means its default.
type Limits struct {
	Files int // changed files; default 500
	Hunks int // hunks of all files; default 10,000
	Bytes int // bytes of the diff; default 8 MiB
	Line  int // bytes of one line of the diff; default 1 MiB
	File  int // bytes of one file, before or after; default 64 MiB
	Total int // bytes of all files, before and after; default 256 MiB
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Files: cmp.Or(l.Files, 500),
		Hunks: cmp.Or(l.Hunks, 10_000),
		Bytes: cmp.Or(l.Bytes, 8<<20),
		Line:  cmp.Or(l.Line, 1<<20),
		File:  cmp.Or(l.File, 64<<20),
		Total: cmp.Or(l.Total, 256<<20),
	}
}

// checkText checks the size and the bytes of a diff before it is parsed.
func (l Limits) checkText(diff []byte) *Refusal {
	if len(diff) > l.Bytes {
		return tooBig("", "the diff has %d bytes; at most %d are allowed", len(diff), l.Bytes)
	}
	if bytes.IndexByte(diff, 0) >= 0 {
		return &Refusal{Kind: Policy, Message: "the diff holds a NUL byte; binary content cannot be patched"}
	}
	for n := 1; len(diff) > 0; n++ {
		line, rest, _ := bytes.Cut(diff, []byte("\n"))
		if len(line) > l.Line {
			return tooBig("", "line %d of the diff has %d bytes; at most %d are allowed", n, len(line), l.Line)
		}
		diff = rest
	}
	return nil
}

// tooBig returns a refusal of the kind TooBig.
func tooBig(path, format string, args ...any) *Refusal {
	return &Refusal{Kind: TooBig, Path: path, Message: fmt.Sprintf(format, args...)}
}
