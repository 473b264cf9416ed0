package explore

import (
	"context"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/prompt"
)

// maxListed is how many lines a list has.
const maxListed = 1000

type listing struct{ Prefix string }

func (e *Explorer) listFiles(_ context.Context, in listing) (string, error) {
	paths := e.under(in.Prefix)
	lines := paths
	if len(lines) > maxListed {
		lines = collapse(paths, strings.LastIndexByte(relative(in.Prefix), '/')+1)
	}
	text := count(len(paths), "file")
	if e.withheld > 0 {
		text += fmt.Sprintf(" (of all files %d withheld, for their names stand for secrets)", e.withheld)
	}
	var list strings.Builder
	shown := 0
	for ; shown < min(len(lines), maxListed) && list.Len() < MaxResult; shown++ {
		list.WriteString(printable(lines[shown]) + "\n")
	}
	if more := len(lines) - shown; more > 0 {
		text += fmt.Sprintf(", %s of this list not shown: give a longer prefix", count(more, "line"))
	}
	if shown == 0 {
		return text + ".\n", nil
	}
	return text + ". " + label + prompt.Fence("", list.String()), nil
}

// collapse makes one line of each directory below the one whose path has the
// first n bytes of all paths.
func collapse(paths []string, n int) []string {
	var lines []string
	for i := 0; i < len(paths); {
		end := strings.IndexByte(paths[i][n:], '/')
		if end < 0 {
			lines = append(lines, paths[i])
			i++
			continue
		}
		dir, inside := paths[i][:n+end+1], 0
		for ; i < len(paths) && strings.HasPrefix(paths[i], dir); i++ {
			inside++
		}
		lines = append(lines, fmt.Sprintf("%s (%s)", dir, count(inside, "file")))
	}
	return lines
}
