package prompt

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// MaxReadBytes bounds the files that are read. Only of a whole file it is known whether it is a text, and how many lines
// it has.
const MaxReadBytes = 1 << 20

const (
	maxListBytes   = 16 << 10
	maxManifest    = 16 << 10 // larger manifests are not sent unasked
	maxNeighbour   = 32 << 10 // larger neighbours are not sent unasked
	minCut         = 1 << 10  // no file is cut to less
	maxLeftOut     = 50
	binaryDetected = 8 << 10 // bytes searched for a NUL
)

// selection holds the files that go with a prompt.
type selection struct {
	artifacts []Artifact
	leftOut   []string
	given     int // files
	withheld  int // files of the repository that are never sent
	visible   int // the others

	in    In
	index fileIndex
	room  int
	seen  map[string]bool
}

// chooseFiles picks the files by priority: the files that failing checks point at, then the files named by
// the problem and the guidance, the goal and the plan, the files that the branch changed, small manifests,
// the neighbours of all these, and at last everything else if all of it fits.
func chooseFiles(in In, changed []string) *selection {
	c := &selection{in: in, room: cmp.Or(in.Budget, DefaultBudget), seen: make(map[string]bool)}
	var visible []File
	for _, f := range in.Files {
		if Withheld(f.Path) {
			c.withheld++
		} else {
			visible = append(visible, f)
		}
	}
	slices.SortFunc(visible, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	c.visible = len(visible)
	if c.room < 0 || in.Read == nil {
		return c
	}
	c.index = newFileIndex(in.Files)
	c.addList(visible)
	pointed := c.pointedFiles(changed)
	for _, p := range pointed {
		c.addFile(c.index.files[p], true)
	}
	c.addManifests(visible)
	c.addNeighbours(visible, pointed)
	c.addRest(visible)
	if n := len(c.leftOut) - maxLeftOut; n > 0 {
		c.leftOut = append(c.leftOut[:maxLeftOut], fmt.Sprintf("and %s", display.Count(n, "more file", "more files")))
	}
	return c
}

// addList adds the list of the visible files.
func (c *selection) addList(visible []File) {
	paths := make([]string, len(visible))
	for i, f := range visible {
		paths[i] = f.Path
	}
	list := fileList(paths, min(maxListBytes, c.room/4))
	if list == "" {
		return
	}
	c.artifacts = append(c.artifacts, Artifact{Name: "list of files", Content: list})
	c.room -= len(list)
}

// pointedFiles returns the files of the repository that the run points at.
func (c *selection) pointedFiles(changed []string) []string {
	var all []string
	look := func(text string, n int) { all = append(all, c.index.findNamed(text[:min(len(text), n)])...) }
	for _, p := range c.in.Mentioned {
		all = append(all, c.index.resolveWord(p)...)
	}
	look(c.in.Problem, maxProblem)
	for _, g := range slices.Backward(c.in.Guidance) {
		look(g.Text, run.MaxTextBytes)
	}
	look(c.in.Goal, run.MaxGoalBytes)
	look(c.in.Plan, maxPlan)
	for _, p := range changed {
		all = append(all, c.index.resolveWord(p)...)
	}
	return all
}

// addManifests adds the small manifests.
func (c *selection) addManifests(visible []File) {
	for _, f := range visible {
		if !strings.Contains(f.Path, "/") && matchesAny(manifests, f.Path) && f.Size <= maxManifest {
			c.addFile(f, false)
		}
	}
}

// addNeighbours adds the small files in the directories of the pointed files.
func (c *selection) addNeighbours(visible []File, pointed []string) {
	dirs := make(map[string]bool)
	for _, p := range pointed {
		dirs[path.Dir(p)] = true
	}
	for _, f := range visible {
		if dirs[path.Dir(f.Path)] && f.Size <= maxNeighbour && !isLock(f.Path) {
			c.addFile(f, false)
		}
	}
}

// addRest adds all other files if all of them fit.
func (c *selection) addRest(visible []File) {
	total := int64(0)
	var rest []File
	for _, f := range visible {
		if !c.seen[f.Path] && !isLock(f.Path) {
			rest = append(rest, f)
			total += f.Size
		}
	}
	if total > int64(c.room) {
		return
	}
	for _, f := range rest {
		c.addFile(f, false)
	}
}

// addFile sends a file. If the run points at the file and it is not sent whole, addFile records why. It
// tries each file once.
func (c *selection) addFile(f File, pointed bool) {
	if c.seen[f.Path] {
		return
	}
	c.seen[f.Path] = true
	a, why := c.takeFile(f, pointed)
	if a.Path != "" {
		c.artifacts = append(c.artifacts, a)
		c.room -= len(a.Content)
		c.given++
	}
	if why != "" && pointed {
		c.leftOut = append(c.leftOut, codeSpan(f.Path)+": "+why)
	}
}

// takeFile reads a file and cuts it to the room that is left, if it may be cut. why says why the file is
// not sent, or which part is missing. The zero Artifact means that the file is not sent.
func (c *selection) takeFile(f File, cut bool) (a Artifact, why string) {
	switch {
	case Withheld(f.Path):
		return a, "withheld: its name suggests that it holds secrets"
	case f.Size > MaxReadBytes:
		return a, fmt.Sprintf("too large, %d bytes", f.Size)
	case f.Size > int64(c.room) && (!cut || c.room < minCut):
		return a, fmt.Sprintf("no room for its %d bytes", f.Size)
	}
	content, err := c.in.Read(f.Path)
	switch {
	case err != nil:
		return a, "it cannot be read"
	case isBinary(content):
		return a, "not a text"
	case len(content) <= c.room:
		return Artifact{Name: display.Path(f.Path), Path: f.Path, Content: string(content)}, ""
	case !cut || c.room < minCut:
		return a, fmt.Sprintf("no room for its %d bytes", len(content))
	}
	return cutFile(f.Path, content, c.room)
}

// cutFile returns the whole lines at the beginning of a file that fit into room.
func cutFile(p string, content []byte, room int) (a Artifact, why string) {
	end := bytes.LastIndexByte(content[:room], '\n') + 1
	if end == 0 {
		return a, "no room for its first line"
	}
	part := fmt.Sprintf("lines 1 to %d of %d", countLines(string(content[:end])), countLines(string(content)))
	return Artifact{Name: display.Path(p) + ", " + part, Path: p, Content: string(content[:end])}, "only " + part
}

// isBinary reports whether content is not text.
func isBinary(content []byte) bool {
	start := content[:min(len(content), binaryDetected)]
	return bytes.IndexByte(start, 0) >= 0 || !utf8.Valid(content)
}

// writeSection says which files are given and which are not. It is empty if there is nothing to say.
func (c *selection) writeSection() string {
	if len(c.in.Files) == 0 {
		return ""
	}
	if c.room < 0 && c.given == 0 {
		return "No file is given with this request: read the files that you need in the current directory.\n"
	}
	text := fmt.Sprintf("Given with this request, as they are now: %s. Not given: %d.", display.Count(c.given, "file", "files"), c.visible-c.given)
	if c.withheld > 0 {
		text += fmt.Sprintf(" Withheld, because their names suggest secrets: %d.", c.withheld)
	}
	if c.in.Explores {
		text += " Read other files that you need with your tools before you ask for them."
	}
	text += "\n"
	if len(c.leftOut) > 0 {
		text += "\nNot given, or not whole:\n\n- " + strings.Join(c.leftOut, "\n- ") + "\n"
	}
	return text
}
