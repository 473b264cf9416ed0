package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
)

const (
	maxNames = 1 << 18  // maximum names beside the names of the commit
	maxPath  = 1024     // bytes of a path, as in package patch
	maxRules = 16 << 20 // bytes of a .gitignore or .gitattributes
)

const noDirectory = "the directory cannot be read"

// survey compares the tree with the commit. It descends level by level, and asks git once a level
// for the ignored names. It puts copies of the differing files on the stage.
type survey struct {
	index  *index
	tree   *os.Root
	stage  *stage
	prefix string
	limits patch.Limits // without zeros

	next    []string        // directories of the level below
	unknown []item          // names of this level that the commit lacks
	seen    map[string]bool // entries that exist, or whose absence means nothing
	names   int             // names that may still be examined
	bytes   int64           // bytes that may still go to the stage

	changed, added, gone []string
	unfits
}

// errEnough ends a survey whose findings already exclude a patch.
var errEnough = errors.New("more than a patch can hold")

// run fills changed, added and gone, which git compares later, and unfits.
func (v *survey) run(ctx context.Context) error {
	if err := v.walkTree(ctx); err != nil {
		return err
	}
	v.findMissing()
	return nil
}

func (v *survey) walkTree(ctx context.Context) error {
	for level := []string{"."}; len(level) > 0; level = v.next {
		v.next, v.unknown = nil, nil
		for _, dir := range level {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if err := v.examineDirectory(dir); err != nil {
				return err
			}
		}
		kept, err := v.stage.dropIgnored(ctx, v.unknown)
		if errors.Is(err, errPatterns) {
			v.add("", "%v", err)
			return errEnough
		}
		if err != nil {
			return err
		}
		for _, it := range kept {
			if err := v.examineAdded(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// examineDirectory examines the names in dir.
func (v *survey) examineDirectory(dir string) error {
	items, err := listDirectory(v.tree, dir, v.names)
	switch {
	case errors.Is(err, errCrowded):
		v.add("", "more than %d files and directories are neither in the commit nor ignored", maxNames)
		return errEnough
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		v.skipUnfit(dir, noDirectory)
		return nil
	case err != nil:
		return err
	}
	v.names -= len(items)
	for _, it := range items {
		switch name := path.Base(it.path); {
		case name == ".git" && dir != ".":
			v.skipUnfit(dir, "it is a repository of its own")
			return nil
		case it.isRegular() && (name == ".gitignore" || name == ".gitattributes"):
			if err := v.stageRules(it); err != nil {
				return err
			}
		}
	}
	for _, it := range items {
		if err := v.examineItem(it); err != nil {
			return err
		}
	}
	return nil
}

// skipUnfit skips a name that is unfit. It marks the commit's entries below the name as seen.
func (v *survey) skipUnfit(name, format string, args ...any) {
	v.add(name, format, args...)
	for _, e := range v.index.entriesBelow(name) {
		v.seen[e.path] = true
	}
}

// examineItem examines one name.
func (v *survey) examineItem(it item) error {
	e, tracked := v.index.find(it.path)
	switch {
	case it.path == ".git": // the checkout's own
	case len(it.path) > maxPath && !tracked:
		v.add(it.path, "the name has more than %d bytes", maxPath)
	case tracked && e.mode == git.ModeGitlink && it.isDir():
		return v.examineSubmodule(it)
	case tracked && !it.isDir():
		v.seen[it.path] = true
		return v.compareItem(e, it)
	case !tracked && it.isDir() && len(v.index.entriesBelow(it.path)) > 0:
		v.next = append(v.next, it.path)
	default:
		v.unknown = append(v.unknown, it)
	}
	return nil
}

// stageRules shows git a file with the rules of ignored files or of conversions.
func (v *survey) stageRules(it item) error {
	if it.size > maxRules {
		v.add(it.path, "the file has %d bytes; at most %d are allowed", it.size, maxRules)
		return errEnough
	}
	err := v.copyToStage(it)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil // meet handles it as a file
	}
	return err
}

// examineSubmodule examines the place of a submodule: the checkout has an empty directory there.
func (v *survey) examineSubmodule(it item) error {
	v.seen[it.path] = true
	inside, err := listDirectory(v.tree, it.path, 1)
	switch {
	case len(inside) > 0 || errors.Is(err, errCrowded) || errors.Is(err, fs.ErrPermission):
		v.add(it.path, "it is a submodule, which cannot be changed")
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// examineAdded examines a name that the commit does not have and that is not ignored.
func (v *survey) examineAdded(it item) error {
	_, tracked := v.index.find(it.path)
	switch {
	case it.isDir() && tracked:
		v.seen[it.path] = true
		v.add(it.path, "a directory has replaced a file; rename one of them")
	case it.isDir():
		v.next = append(v.next, it.path)
	case it.isSymlink():
		v.skipUnfit(it.path, "symbolic links cannot be created")
	case !it.isRegular():
		v.skipUnfit(it.path, "%s cannot be part of a patch", it.kindInWords())
	case len(v.index.entriesBelow(it.path)) > 0:
		v.skipUnfit(it.path, "a file has replaced a directory; rename one of them")
	case len(v.added) == v.limits.Files:
		v.add("", "more than %d files are new", v.limits.Files)
		return errEnough
	case v.permitsPath(it.path):
		return v.putOnStage(it, &v.added)
	}
	return nil
}

// findMissing finds the entries of the commit that the tree does not have.
func (v *survey) findMissing() {
	for _, e := range v.index.entries {
		switch {
		case v.seen[e.path]:
		case e.mode == git.ModeSymlink:
			v.add(e.path, "symbolic links cannot be deleted")
		case e.mode == git.ModeGitlink:
			v.add(e.path, "submodules cannot be deleted; an empty directory was here")
		case v.permitsPath(e.path):
			v.gone = append(v.gone, e.path)
		}
	}
}

// permitsPath reports whether a patch may touch a path, and notes the path when it may not.
func (v *survey) permitsPath(name string) bool {
	if v.prefix != "" && !strings.HasPrefix(name, v.prefix+"/") {
		v.add(name, "it is outside of %s, the only directory that can be changed", v.prefix)
		return false
	}
	if rule := forbiddingRule(relativeTo(v.prefix, name)); rule != "" {
		v.add(name, "%s", rule)
		return false
	}
	return true
}

// forbiddingRule returns the rule of package patch that forbids a name. It is empty when no rule does.
func forbiddingRule(name string) string {
	made := patch.FileChange{Path: name, Kind: patch.Added, After: &patch.File{Mode: patch.Regular, Content: []byte("x\n")}}
	_, err := patch.Plan(nothing{}, (&patch.Change{Files: []patch.FileChange{made}}).Diff(), patch.Limits{})
	if r, ok := errors.AsType[*patch.Refusal](err); ok && r.Kind == patch.BadPath {
		return r.Message
	}
	return ""
}

// nothing is a tree without files.
type nothing struct{}

func (nothing) Lookup(string) (patch.File, error) { return patch.File{}, fs.ErrNotExist }
func (nothing) Names(string) ([]string, error)    { return nil, fs.ErrNotExist }
