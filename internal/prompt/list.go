package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// fileList lists the paths, one on each line. If that takes more than limit bytes, deep directories become
// one line with the number of their files. If even that is too long, fileList cuts the end and counts the
// missing lines. Without room for the count there is no list.
func fileList(paths []string, limit int) string {
	paths = slices.Sorted(slices.Values(paths))
	depth := 0
	for _, p := range paths {
		depth = max(depth, strings.Count(p, "/")+1)
	}
	const room = 40 // for the line that counts the others
	if limit < room {
		return ""
	}
	list := collapseDirs(paths, depth)
	for len(list) > limit && depth > 1 {
		depth--
		list = collapseDirs(paths, depth)
	}
	if len(list) <= limit {
		return list
	}
	kept, missing := headLines(list, limit-room)
	return kept + fmt.Sprintf("(and %s)\n", display.Count(missing, "more line", "more lines"))
}

// collapseDirs lists sorted paths of at most depth segments, and the directories that hold longer ones.
func collapseDirs(paths []string, depth int) string {
	var b strings.Builder
	for i := 0; i < len(paths); {
		dir, deep := dirPrefix(paths[i], depth)
		if !deep {
			b.WriteString(display.Path(paths[i]) + "\n")
			i++
			continue
		}
		n := 1
		for i+n < len(paths) && strings.HasPrefix(paths[i+n], dir) {
			n++
		}
		fmt.Fprintf(&b, "%s (%s)\n", display.Path(dir), display.Count(n, "file", "files"))
		i += n
	}
	return b.String()
}

// dirPrefix returns the directory of a path's first depth segments. deep is false if the path has no more
// segments.
func dirPrefix(p string, depth int) (dir string, deep bool) {
	end := 0
	for range depth {
		i := strings.IndexByte(p[end:], '/')
		if i < 0 {
			return "", false
		}
		end += i + 1
	}
	return p[:end], true
}
