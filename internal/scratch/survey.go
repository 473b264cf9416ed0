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
var errEnough = errors.New("more than a patch can be")

// run fills changed, added and gone, which git compares later, and unfits.
func (v *survey) run(ctx context.Context) error {
	if err := v.walk(ctx); err != nil {
		return err
	}
	v.missing()
	return nil
}

func (v *survey) walk(ctx context.Context) error {
	for level := []string{"."}; len(level) > 0; level = v.next {
		v.next, v.unknown = nil, nil
		for _, dir := range level {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if err := v.directory(dir); err != nil {
				return err
			}
		}
		kept, err := v.stage.kept(ctx, v.unknown)
		if err != nil {
			return err
		}
		for _, it := range kept {
			if err := v.fresh(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// directory examines the names in dir.
func (v *survey) directory(dir string) error {
	items, err := list(v.tree, dir, v.names)
	switch {
	case errors.Is(err, errCrowded):
		v.add("", "more than %d files and directories are neither in the commit nor ignored", maxNames)
		return errEnough
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		v.pass(dir, noDirectory)
		return nil
	case err != nil:
		return err
	}
	v.names -= len(items)
	for _, it := range items {
		switch name := path.Base(it.path); {
		case name == ".git" && dir != ".":
			v.pass(dir, "it is a repository of its own")
			return nil
		case it.regular() && (name == ".gitignore" || name == ".gitattributes"):
			if err := v.rules(it); err != nil {
				return err
			}
		}
	}
	for _, it := range items {
		if err := v.meet(it); err != nil {
			return err
		}
	}
	return nil
}

// pass skips a name that is unfit. It marks the commit's entries below the name as seen.
func (v *survey) pass(name, format string, args ...any) {
	v.add(name, format, args...)
	for _, e := range v.index.below(name) {
		v.seen[e.path] = true
	}
}

// meet examines one name.
func (v *survey) meet(it item) error {
	e, tracked := v.index.find(it.path)
	switch {
	case it.path == ".git": // the checkout's own
	case len(it.path) > maxPath && !tracked:
		v.add(it.path, "the name has more than %d bytes", maxPath)
	case tracked && e.mode == git.ModeGitlink && it.dir():
		return v.submodule(it)
	case tracked && !it.dir():
		v.seen[it.path] = true
		return v.compare(e, it)
	case !tracked && it.dir() && len(v.index.below(it.path)) > 0:
		v.next = append(v.next, it.path)
	default:
		v.unknown = append(v.unknown, it)
	}
	return nil
}

// rules shows git a file with the rules of ignored files or of conversions.
func (v *survey) rules(it item) error {
	if it.size > maxRules {
		v.add(it.path, "the file has %d bytes; at most %d are taken", it.size, maxRules)
		return errEnough
	}
	err := v.copy(it)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil // meet handles it as a file
	}
	return err
}

// submodule examines the place of a submodule: the checkout has an empty directory there.
func (v *survey) submodule(it item) error {
	v.seen[it.path] = true
	inside, err := list(v.tree, it.path, 1)
	switch {
	case len(inside) > 0 || errors.Is(err, errCrowded) || errors.Is(err, fs.ErrPermission):
		v.add(it.path, "it is a submodule, which cannot be filled or changed")
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// fresh examines a name that the commit does not have and that is not ignored.
func (v *survey) fresh(it item) error {
	_, tracked := v.index.find(it.path)
	switch {
	case it.dir() && tracked:
		v.seen[it.path] = true
		v.add(it.path, "a directory is in the place of a file; move one of them to another name")
	case it.dir():
		v.next = append(v.next, it.path)
	case it.symlink():
		v.pass(it.path, "symbolic links cannot be made")
	case !it.regular():
		v.pass(it.path, "%s cannot be part of a patch", it.what())
	case len(v.index.below(it.path)) > 0:
		v.pass(it.path, "a file is in the place of a directory; move one of them to another name")
	case len(v.added) == v.limits.Files:
		v.add("", "more than %d files are new", v.limits.Files)
		return errEnough
	case v.permits(it.path):
		return v.put(it, &v.added)
	}
	return nil
}

// missing finds the entries of the commit that the tree does not have.
func (v *survey) missing() {
	for _, e := range v.index.entries {
		switch {
		case v.seen[e.path]:
		case e.mode == git.ModeSymlink:
			v.add(e.path, "symbolic links cannot be deleted")
		case e.mode == git.ModeGitlink:
			v.add(e.path, "submodules cannot be deleted; an empty directory was here")
		case v.permits(e.path):
			v.gone = append(v.gone, e.path)
		}
	}
}

// permits reports whether a patch may touch a path, and notes the path when it may not.
func (v *survey) permits(name string) bool {
	if v.prefix != "" && !strings.HasPrefix(name, v.prefix+"/") {
		v.add(name, "it is outside of the directory that can be changed, %s", v.prefix)
		return false
	}
	if rule := forbidden(relative(v.prefix, name)); rule != "" {
		v.add(name, "%s", rule)
		return false
	}
	return true
}

// forbidden returns the rule of package patch that forbids a name. It is empty when no rule does.
func forbidden(name string) string {
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
