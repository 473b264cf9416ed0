package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fileList lists the paths, one a line. When that takes more than limit bytes,
// deep directories become one line with the number of their files; when even
// that is too long, the end is cut and counted; without room for that there is
// no list.
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
	list := collapse(paths, depth)
	for len(list) > limit && depth > 1 {
		depth--
		list = collapse(paths, depth)
	}
	if len(list) <= limit {
		return list
	}
	kept, missing := head(list, limit-room)
	return kept + fmt.Sprintf("(and %s)\n", count(missing, "more line"))
}

// collapse lists sorted paths of at most depth segments, and the directories
// that hold longer ones.
func collapse(paths []string, depth int) string {
	var b strings.Builder
	for i := 0; i < len(paths); {
		dir, deep := prefix(paths[i], depth)
		if !deep {
			b.WriteString(printable(paths[i]) + "\n")
			i++
			continue
		}
		n := 1
		for i+n < len(paths) && strings.HasPrefix(paths[i+n], dir) {
			n++
		}
		fmt.Fprintf(&b, "%s (%s)\n", printable(dir), count(n, "file"))
		i += n
	}
	return b.String()
}

// prefix returns the directory of a path's first depth segments; deep is false
// for a path that has no more than those.
func prefix(p string, depth int) (dir string, deep bool) {
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

// printable quotes a path that would not be one line of plain text.
func printable(p string) string {
	if q := strconv.Quote(p); q != `"`+p+`"` {
		return q
	}
	return p
}
