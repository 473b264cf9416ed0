package explore

import (
	"context"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/prompt"
)

// maxListed is the most lines of a list.
const maxListed = 1000

type listing struct{ Prefix string }

func (e *Explorer) listFiles(_ context.Context, in listing) (string, error) {
	paths := e.pathsUnder(in.Prefix)
	lines := paths
	if len(lines) > maxListed {
		lines = collapseDirs(paths, strings.LastIndexByte(trimRoot(in.Prefix), '/')+1)
	}
	text := display.Count(len(paths), "file", "files")
	if e.withheld > 0 {
		text += fmt.Sprintf(" (of all files %d withheld, because their names suggest secrets)", e.withheld)
	}
	var list strings.Builder
	shown := 0
	for ; shown < min(len(lines), maxListed) && list.Len() < MaxResult; shown++ {
		list.WriteString(display.Path(lines[shown]) + "\n")
	}
	if more := len(lines) - shown; more > 0 {
		text += fmt.Sprintf(", %s of this list not shown: give a longer prefix", display.Count(more, "line", "lines"))
	}
	if shown == 0 {
		return text + ".\n", nil
	}
	return text + ". " + dataLabel + prompt.Fence("", list.String()), nil
}

// collapseDirs makes one line of each directory directly below the directory whose path is the first n
// bytes of all paths.
func collapseDirs(paths []string, n int) []string {
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
		lines = append(lines, fmt.Sprintf("%s (%s)", dir, display.Count(inside, "file", "files")))
	}
	return lines
}
