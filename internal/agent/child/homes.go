package child

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// housed is a box in which a client has homes of its own: directories below dir, which stay there for the next process,
// or temporary ones if dir is empty.
type housed struct {
	boxes *egress.Boxes
	box   *box.Box
	spec  box.Spec
	homes []Home
	dir   string
	log   io.Writer // nil discards it
}

// HostPath returns the path outside of a box of a file in a home of a session.
func (s Sandbox) HostPath(o agent.Options, path string) string {
	if !s.Held() || o.Home == "" {
		return path
	}
	return filepath.Join(o.Home, filepath.Clean("/"+path)) // the path comes from the client: it leads nowhere else
}

// Enclose implements [proc.Box].
func (h housed) Enclose(argv []string, dir string, env []string) (_ *proc.Enclosure, err error) {
	var loans []*loan
	own := h.dir
	remove := func() {
		for _, l := range loans {
			os.Remove(l.copy)
		}
		if h.dir == "" && own != "" {
			git.RemoveTree(own) // an agent may have closed a directory in it
		}
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if own == "" {
		if own, err = os.MkdirTemp("", "ratchet-home-"); err != nil {
			return nil, err
		}
	}
	h.spec.Own, h.spec.Lent = append(slices.Clip(h.spec.Own), own), slices.Clip(h.spec.Lent)
	for _, home := range h.homes {
		at := filepath.Join(own, home.Dir)
		if err := home.clearDir(at); err != nil {
			return nil, err
		}
		h.spec.Lent = append(h.spec.Lent, box.Loan{From: at, Dir: home.Dir})
		for _, name := range home.Logins {
			l, err := lendFile(filepath.Join(home.Dir, name), filepath.Join(at, name))
			if err != nil {
				return nil, err
			}
			if l != nil {
				loans = append(loans, l)
			}
		}
	}
	e, err := h.boxes.For(h.box, h.spec).Enclose(argv, dir, env)
	if err != nil {
		return nil, err
	}
	release, stop := e.Close, watchLoans(loans, h.log)
	e.Close = func() {
		release()
		stop()
		remove()
	}
	return e, nil
}

// clearDir makes the session's own directory at a path, and removes everything in it that is not kept. An agent of an earlier
// process may have left a link there, and the worker writes and makes mount points in this directory.
func (h Home) clearDir(at string) error {
	if err := errors.Join(os.MkdirAll(h.Dir, 0o700), os.MkdirAll(at, 0o700)); err != nil {
		return err
	}
	entries, err := os.ReadDir(at)
	for _, e := range entries {
		if !matchesAny(h.Kept, e.Name()) || !e.IsDir() && !e.Type().IsRegular() {
			err = errors.Join(err, git.RemoveTree(filepath.Join(at, e.Name())))
		}
	}
	return err
}

// matchesAny reports whether a name matches one of the patterns.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := filepath.Match(p, name); return ok })
}

// addToSpec adds to a spec what the session sees of the user's directory.
func (h Home) addToSpec(spec *box.Spec) error {
	for _, path := range h.shown() {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			sockets, err := findSockets(path, nil, mostMet)
			if err != nil {
				return err
			}
			spec.Covered = append(spec.Covered, sockets...)
		}
		spec.Read = append(spec.Read, path)
	}
	return nil
}

// programDirs are the names of directories that people give to programs of their own.
var programDirs = []string{"bin", "lib", "node_modules", "scripts", "tools"}

// programEnds are the file name extensions of scripts. textEnds are the extensions of texts that settings name, such as
// instructions and certificates. Data files, such as .json, are left out because they can hold credentials.
var (
	programEnds = []string{".bash", ".cjs", ".fish", ".js", ".mjs", ".pl", ".py", ".rb", ".sh", ".ts", ".zsh"}
	textEnds    = []string{".crt", ".md", ".pem", ".toml", ".txt"}
)

// shown returns the paths of what the session sees of the user's directory: the settings, the texts and programs at its
// top, directories of programs, and the directories that the settings and texts name.
func (h Home) shown() (paths []string) {
	entries, _ := os.ReadDir(h.Dir) // a missing directory has no entries
	var words strings.Builder
	var others []string
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(h.Dir, e.Name())
		info, err := os.Stat(path)
		if err != nil || matchesAny(h.Kept, name) || matchesAny(h.Logins, name) {
			continue
		}
		isSetting := matchesAny(h.Settings, name)
		switch {
		case info.IsDir() && (isSetting || slices.Contains(programDirs, name)):
			paths = append(paths, path)
		case info.IsDir():
			others = append(others, name)
		case info.Mode().IsRegular() && (isSetting || slices.Contains(textEnds, filepath.Ext(name)) || isProgram(path, info)):
			paths = append(paths, path)
			if info.Size() <= file.MaxDocument {
				text, _ := os.ReadFile(path) // settings may be a link
				words.Write(text)
			}
		}
	}
	for _, name := range others {
		if isNamed(words.String(), name) {
			paths = append(paths, filepath.Join(h.Dir, name))
		}
	}
	return paths
}

// isNamed reports whether a text has a path through a directory of that name.
func isNamed(text, name string) bool {
	return slices.ContainsFunc([]string{"/", "@", `"`, "'"}, func(before string) bool { return strings.Contains(text, before+name+"/") })
}

// isProgram reports whether a file looks like a program.
func isProgram(path string, info fs.FileInfo) bool {
	_, script := readHashbang(path)
	return script || info.Mode()&0o111 != 0 || slices.Contains(programEnds, filepath.Ext(path))
}
