package explore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/prompt"
)

type extract struct {
	Path     string
	From, To int
}

func (e *Explorer) readFile(ctx context.Context, in extract) (string, error) {
	name, err := e.findFile(in.Path)
	if err != nil {
		return "", err
	}
	content, size, err := e.files.Read(ctx, name, MaxFile)
	if err != nil {
		return "", fmt.Errorf("%q cannot be read", display.Clip(name, maxName))
	}
	whole := int64(len(content)) == size
	if !whole { // the end may lie within a line
		content = content[:bytes.LastIndexByte(content, '\n')+1]
	}
	switch {
	case size == 0:
		return fmt.Sprintf("%q is empty.\n", display.Clip(name, maxName)), nil
	case len(content) == 0:
		return "", fmt.Errorf("%q has no line that can be read", display.Clip(name, maxName))
	case isBinary(content):
		return "", fmt.Errorf("%q is not a text", display.Clip(name, maxName))
	}
	all := strings.SplitAfter(strings.TrimSuffix(string(content), "\n"), "\n")
	from, to, err := in.cutLines(all)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%q, lines %d to %d of %d", display.Clip(name, maxName), from, to, len(all))
	if !whole {
		text += fmt.Sprintf(" in its first %d bytes, the rest of its %d cannot be read", MaxFile, size)
	}
	if whole && to == len(all) && content[len(content)-1] != '\n' {
		text += " (no line feed at the end)"
	}
	return text + ". " + dataLabel + prompt.Fence("", strings.Join(all[from-1:to], "")), nil
}

// cutLines returns the range of lines to show: the requested lines, as many as fit. It refuses a single
// line that does not fit.
func (in extract) cutLines(all []string) (from, to int, err error) {
	from, most := max(in.From, 1), len(all)
	if in.To > 0 {
		most = min(in.To, most)
	}
	if from > most {
		return 0, 0, fmt.Errorf("there are no such lines: the last is %d", len(all))
	}
	to = from - 1
	for size := 0; to < most && size+len(all[to]) <= MaxResult; to++ {
		size += len(all[to])
	}
	if to < from {
		return 0, 0, fmt.Errorf("line %d is longer than the %d bytes of a result", from, MaxResult)
	}
	return from, to, nil
}
