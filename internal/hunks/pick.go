package hunks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Choice names hunks of a file of a patch.
type Choice struct {
	File    string
	Numbers []int // from 1, in the order of the patch
}

// Pick returns the patch without the hunks of the named files that are not chosen. Other files stay whole. The patch is one
// that Ratchet has rendered.
func Pick(patch []byte, choices []Choice) ([]byte, error) {
	files, err := Read(patch)
	if err != nil {
		return nil, err
	}
	sections := cutBefore(patch, "diff --git ")
	if len(sections) != len(files) {
		return nil, fmt.Errorf("the patch has %d sections and %d files", len(sections), len(files))
	}
	for _, c := range choices {
		i := slices.IndexFunc(files, func(f File) bool { return f.Name == c.File })
		if i < 0 {
			return nil, fmt.Errorf("the patch does not change %s", c.File)
		}
		list := cutBefore(sections[i], "@@ ")
		head, list := list[0], list[1:]
		for _, n := range c.Numbers {
			if n < 1 || n > len(list) {
				return nil, fmt.Errorf("%s has no hunk %d: the patch has %d there", c.File, n, len(list))
			}
		}
		var out []byte
		for line := range bytes.Lines(head) {
			if !bytes.HasPrefix(line, []byte("index ")) { // it names the content with all hunks
				out = append(out, line...)
			}
		}
		for n, hunk := range list {
			if slices.Contains(c.Numbers, n+1) {
				out = append(out, hunk...)
			}
		}
		sections[i] = out
	}
	return bytes.Join(sections, nil), nil
}

// cutBefore cuts a text before each line that begins so. Lines of a file never do: they begin with a blank, + or -.
func cutBefore(text []byte, prefix string) (parts [][]byte) {
	for line := range bytes.Lines(text) {
		if len(parts) == 0 || strings.HasPrefix(string(line), prefix) {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], line...)
	}
	return parts
}
