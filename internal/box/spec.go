package box

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/box/inner"
)

// Spec says what one program may reach. All paths are absolute. Everything has the same path inside
// as outside, so that messages name files that exist.
type Spec struct {
	// Tree is the work tree, writable except for its .git. A directory of that name is read-only. In the
	// place of a file, or of nothing, is a file that tells git that there is no repository. Empty means
	// no tree.
	Tree string
	// Write are further writable directories, such as the home of the run. Read are directories and
	// files to read, such as a toolchain outside of /usr and /opt, or the objects of the repository
	// that a work tree borrows.
	Write, Read []string
	Overlays    []Overlay
	// Lent are directories that the box replaces by others, writable, with their own mounts.
	Lent []Loan
	// Covered are sockets of the user. Wherever the box would show one, it has an empty file.
	Covered []string
	// Own are directories in the directory of the runs that the program may reach. So are the tree and the targets of
	// overlays; a spec that shows anything else there is refused.
	Own []string
	// Egress is the way to the network. Nil means that there is none.
	Egress *Egress
	// Bridge is the path of a socket outside, to which programs inside connect by [Box.BridgeCommand]; empty: none.
	Bridge string
}

// Overlay is a directory that can be read and written, whose changes stay out of the original.
// [Box.Overlays] reports whether there are any.
type Overlay struct {
	Lower  string // the original, never written
	Above  string // a directory of changes that is laid over Lower, never written either; empty: none
	Upper  string // receives the changes
	Work   string // a directory for the kernel alone, in the file system of Upper
	Target string // the place inside; the directory must exist outside too
}

// Loan is a directory From outside that a box shows, writable, in the place of the directory Dir, which must exist. From
// belongs to this box alone, because mount points are made in it. The limit of a file holds for each in it, not for their sum.
type Loan struct{ From, Dir string }

// Egress is a socket that leads to a proxy outside, and the program that forwards to it inside.
type Egress struct {
	Socket string // outside; inside it is EgressSocket
	// Forwarder is the name under which our own executable runs as the forwarder, and Args are its
	// arguments. It runs "--" and the program with its arguments, which follow Args.
	Forwarder string
	Args      []string
}

// bridgeSocket is the path of the socket of a Bridge inside.
const bridgeSocket = "/run/bridge.sock"

// BridgeCommand returns the program, with its arguments, that copies its standard input to the socket and the socket to
// its standard output: of a box with the socket as its Bridge, or of this machine for a nil box.
func (b *Box) BridgeCommand(socket string) ([]string, error) {
	if b != nil {
		return []string{OwnDirectory + inner.BridgeWord, inner.BridgeWord, bridgeSocket}, nil
	}
	own, err := os.Executable()
	return []string{own, inner.BridgeWord, socket}, err
}

// EgressSocket is the path of the proxy's socket inside. OwnDirectory holds our executable inside,
// under the name of each program that it runs as.
const (
	EgressSocket = "/run/egress.sock"
	OwnDirectory = "/run/ratchet/"
)

// mountKind is how a path gets into the box.
type mountKind string

const (
	readOnly mountKind = "--ro-bind"
	writable mountKind = "--bind"
	private  mountKind = "--tmpfs"
	lent     mountKind = "--bind-lent"    // no option of bwrap: a writable directory in the place of another
	fence    mountKind = "--ro-bind-data" // a file with the content of fenceText
	cover    mountKind = "--ro-bind-null" // no option of bwrap: /dev/null, in the place of a socket
)

// fenceText keeps git from a repository in this directory and above.
const fenceText = "gitdir: none\n"

// mount is one path in the box.
type mount struct {
	kind     mountKind
	from, to string
}

// systemDirs are the top-level directories of the system besides /usr. On most machines all but /opt are
// links.
var systemDirs = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt"}

// InSystem reports whether a path is a directory of the system that every box shows, or in one. It follows
// no link.
func InSystem(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(filepath.Clean(path), "/"), "/")
	return filepath.IsAbs(path) && (top == "usr" || slices.Contains(systemDirs, top))
}

// reserved are directories that hold the machine itself, and of which the box has its own. Those below /tmp can be shown.
var reserved = []string{"/proc", "/sys", "/dev", "/tmp"}

// services holds the sockets of the machine and of its users: a program connects to one that it can only read. Below disks
// are the file systems that a user has mounted.
const (
	services = "/run"
	disks    = "/run/media"
)

// kernels are directories in which the kernel makes the files. Links there lead everywhere, such as /proc/self/root.
var kernels = []string{"/proc", "/sys", "/dev"}

// resolver resolves the links of each path once, for the start of one program: the checks of a spec compare every
// mount with every other one.
type resolver map[string]resolved

type resolved struct {
	real string
	err  error
}

func (r resolver) resolve(path string) (string, error) {
	known, ok := r[path]
	if !ok {
		known.real, known.err = filepath.EvalSymlinks(path)
		r[path] = known
	}
	return known.real, known.err
}

// mounts returns what the spec adds to the box, parents before children. It refuses a path that does
// not exist, one of the system, one that is or holds the operator's home, and one of the runs that is not the spec's own.
// An empty directory covers the runs in a directory that holds them.
func (s Spec) mounts(home, runs string, links resolver) ([]mount, error) {
	var all []mount
	add := func(what string, kind mountKind, paths ...string) error {
		for _, path := range paths {
			if err := links.checkPath(path, home); err != nil {
				return fmt.Errorf("%s %s: %w", what, path, err)
			}
			all = append(all, mount{kind, path, path})
		}
		return nil
	}
	if err := errors.Join(add("directory", readOnly, s.Read...), add("directory", writable, s.Write...)); err != nil {
		return nil, err
	}
	for _, l := range s.Lent {
		if err := add("directory", lent, l.Dir); err != nil {
			return nil, err
		}
		all[len(all)-1].from = l.From
	}
	for _, o := range s.Overlays {
		if err := links.checkPath(o.Lower, home); err != nil {
			return nil, fmt.Errorf("overlay over %s: %w", o.Lower, err)
		}
		if o.Above != "" {
			if err := links.checkPath(o.Above, home); err != nil {
				return nil, fmt.Errorf("overlay over %s: %w", o.Above, err)
			}
		}
		if err := add("overlay", writable, o.Target); err != nil {
			return nil, err
		}
	}
	if s.Tree != "" {
		if err := add("work tree", writable, s.Tree); err != nil {
			return nil, err
		}
		git, err := gitMount(s.Tree)
		if err != nil {
			return nil, fmt.Errorf("work tree %s: %w", s.Tree, err)
		}
		all = append(all, git)
	}
	own := append(slices.Clone(s.Own), s.Tree)
	for _, o := range s.Overlays {
		own = append(own, o.Target)
	}
	if err := links.checkApart(all, runs, own); err != nil {
		return nil, err
	}
	all = append(all, links.coverRuns(runs, all)...)
	slices.SortStableFunc(all, func(a, b mount) int { return strings.Compare(a.to, b.to) })
	if err := links.checkNested(all); err != nil {
		return nil, err
	}
	if err := links.checkKept(all); err != nil {
		return nil, err
	}
	covers, err := links.coverSockets(s.Covered, all)
	return append(all, covers...), err
}

// checkNested refuses a mount below a directory that a program in a box can write, unless its way
// there has no link: a program of an earlier box could have laid it. It also refuses one below the
// .git of the tree.
func (r resolver) checkNested(all []mount) error {
	for _, m := range all {
		for _, above := range all {
			if m.to == above.to || !isUnder(m.to, above.to) {
				continue
			}
			if filepath.Base(above.to) == ".git" {
				return fmt.Errorf("%s: it is in the .git of the work tree", m.to)
			}
			below := strings.TrimPrefix(m.to, above.to)
			if above.kind == lent {
				if hasLink(above.from, below) {
					return fmt.Errorf("%s: the link %s points there", m.to, above.from)
				}
				continue
			}
			top, err := r.resolve(above.to)
			if err != nil {
				return err
			}
			real, err := r.resolve(m.to)
			if m.kind != fence && (err != nil || real != top+below) {
				return fmt.Errorf("%s: the link %s points there", m.to, above.to)
			}
		}
	}
	return nil
}

// hasLink reports whether there is a link on the way from a directory to a path below it. The rest of the way may be
// missing.
func hasLink(dir, below string) bool {
	for _, name := range strings.Split(strings.Trim(below, "/"), "/") {
		dir = filepath.Join(dir, name)
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// checkKept refuses a file that is to be read only, or a directory shown by another, that a program in a box can change
// all the same: by another path that leads to it, or by replacing a directory above it. A mount can be
// neither moved nor removed.
func (r resolver) checkKept(all []mount) error {
	for _, m := range all {
		if m.kind != readOnly && m.kind != lent {
			continue // the parent of a fence is the work tree, a mount
		}
		real, err := r.resolve(m.to)
		if err != nil {
			return err
		}
		for _, w := range all {
			top, err := r.resolve(w.to)
			if w.kind != writable || err != nil || !isUnder(real, top) {
				continue
			}
			path := w.to + strings.TrimPrefix(real, top) // of m, by way of w
			if nearestMount(all, path).kind == writable {
				return fmt.Errorf("%s: it must be read-only, but could be written as %s", m.to, path)
			}
			for dir := filepath.Dir(path); isUnder(dir, w.to); dir = filepath.Dir(dir) {
				if at := nearestMount(all, dir); at.kind == writable && at.to != dir {
					return fmt.Errorf("%s: it must be read-only, but could be replaced through its directory %s: show that directory", m.to, dir)
				}
			}
		}
	}
	return nil
}

// nearestMount returns the mount that a path of the box belongs to: the last one of the longest path.
func nearestMount(all []mount, path string) (found mount) {
	for _, m := range all {
		if isUnder(path, m.to) && len(m.to) >= len(found.to) {
			found = m
		}
	}
	return found
}

// gitMount returns the mount of the .git of a tree.
func gitMount(tree string) (mount, error) {
	path := filepath.Join(tree, ".git")
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return mount{readOnly, path, path}, nil
	case err == nil && !info.Mode().IsRegular():
		return mount{}, errors.New("its .git is neither a directory nor a file")
	}
	return mount{kind: fence, to: path}, nil
}

// CheckPath refuses a path that this box does not show, with the reason in one line.
func (b *Box) CheckPath(path string) error { return CheckPath(path, b.home) }

// CheckLower refuses a directory that this box lays no overlay over: one that it does not show, and one that is, holds or
// lies in the directory of the runs, which no overlay covers.
func (b *Box) CheckLower(path string) error {
	links := resolver{}
	if err := links.checkPath(path, b.home); err != nil {
		return err
	}
	if real, err := links.resolve(path); err == nil && b.runs != "" && isUnder(b.runs, real) {
		return errors.New("it contains the runs directory")
	}
	return links.checkApart([]mount{{kind: readOnly, from: path, to: path}}, b.runs, nil)
}

// CheckPath refuses a path that no box shows, with the reason in one line: one that is not clean and
// absolute, that does not exist, that belongs to the system, and the home directory or a directory that
// holds it. An empty home is not compared.
func CheckPath(path, home string) error { return resolver{}.checkPath(path, home) }

func (r resolver) checkPath(path, home string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return errors.New("not a clean absolute path")
	}
	real, err := r.resolve(path)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no such file or directory")
	}
	if err != nil {
		return err
	}
	if real == "/" || slices.Contains(reserved, real) || underAny(real, kernels...) || underAny(path, kernels...) ||
		isUnder(real, services) && !strings.HasPrefix(real, disks+"/") {
		return errors.New("it belongs to the system; the sandbox has its own")
	}
	if home != "" && isUnder(home, real) {
		return fmt.Errorf("it is the home directory %s, or contains it: name a directory below", home)
	}
	return nil
}

// isUnder reports whether path is dir or below it.
func isUnder(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func underAny(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return isUnder(path, dir) })
}
