package explore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/prompt"
)

type extract struct {
	Path     string
	From, To int
}

func (e *Explorer) readFile(ctx context.Context, in extract) (string, error) {
	name, err := e.find(in.Path)
	if err != nil {
		return "", err
	}
	content, size, err := e.files.Read(ctx, name, MaxFile)
	if err != nil {
		return "", fmt.Errorf("%q cannot be read", clip(name))
	}
	whole := int64(len(content)) == size
	if !whole { // the end may lie within a line
		content = content[:bytes.LastIndexByte(content, '\n')+1]
	}
	switch {
	case size == 0:
		return fmt.Sprintf("%q is empty.\n", clip(name)), nil
	case len(content) == 0:
		return "", fmt.Errorf("%q has no line that can be read", clip(name))
	case binary(content):
		return "", fmt.Errorf("%q is not a text", clip(name))
	}
	all := strings.SplitAfter(strings.TrimSuffix(string(content), "\n"), "\n")
	from, to, err := in.cut(all)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%q, lines %d to %d of %d", clip(name), from, to, len(all))
	if !whole {
		text += fmt.Sprintf(" in its first %d bytes, the rest of its %d cannot be read", MaxFile, size)
	}
	if whole && to == len(all) && content[len(content)-1] != '\n' {
		text += " (no line feed at the end)"
	}
	return text + ". " + label + prompt.Fence("", strings.Join(all[from-1:to], "")), nil
}

// cut says which lines are given: those that are asked for, as many as fit. A
// single one that does not fit is refused.
func (in extract) cut(all []string) (from, to int, err error) {
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
