package child

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/box"
)

// addClient adds the program of a client and its files to what a box shows. What programs outside of the
// box execute or load is read-only there: what the client calls fixed, the program of the client itself,
// and what looks like a program at the top of the client's directories. It makes the client's own names
// that are missing, so that no program in the box can make them.
func addClient(spec *box.Spec, c Client, path string) error {
	fixed, dirs := c.shownFixed(), slices.Clone(c.State)
	for _, name := range slices.Concat(c.Tops, c.State, fixed, c.Private) {
		if err := makeState(name); err != nil {
			return err
		}
	}
	program := ProgramFiles(c.Argv, path)
	spec.Write = append(spec.Write, cleanPaths(c.State)...)
	spec.Private = append(spec.Private, cleanPaths(c.Private)...)
	for _, name := range fixed {
		if strings.HasSuffix(name, "/") && c.inTops(name) {
			dirs = append(dirs, name)
		}
	}
	for _, dir := range dirs {
		sockets, err := findSockets(filepath.Clean(dir), spec.Private, mostMet)
		if err != nil {
			return err
		}
		spec.Covered = append(spec.Covered, sockets...)
	}
	kept, tops := slices.Clone(fixed), cleanPaths(c.Tops)
	for _, dir := range slices.Concat(cleanPaths(c.State), tops) {
		kept = append(kept, findPrograms(dir)...)
		kept = append(kept, topsIn(dir, filepath.SplitList(path))...)
	}
	for _, dir := range tops {
		kept = append(kept, findTexts(dir, slices.Concat(spec.Private, spec.Write))...)
	}
	for _, dir := range slices.Concat(spec.Write, tops) {
		kept = append(kept, topsIn(dir, slices.Concat(c.Argv, program))...)
	}
	if err := keepFiles(spec, kept); err != nil {
		return err
	}
	spec.Private = append(spec.Private, tops...)
	spec.Read = append(spec.Read, program...)
	return nil
}

// shownFixed returns the names in Fixed that a box shows: all but the ones that are missing in a top.
func (c Client) shownFixed() (shown []string) {
	for _, name := range c.Fixed {
		if _, err := os.Lstat(filepath.Clean(name)); err == nil || !c.inTops(name) {
			shown = append(shown, name)
		}
	}
	return shown
}

func (c Client) inTops(name string) bool {
	return slices.ContainsFunc(c.Tops, func(top string) bool { return strings.HasPrefix(name, top) })
}

func cleanPaths(paths []string) (clean []string) {
	for _, path := range paths {
		clean = append(clean, filepath.Clean(path))
	}
	return clean
}

// keepFiles has a box show files and directories read-only. A directory that is not there is made.
func keepFiles(spec *box.Spec, paths []string) error {
	for _, path := range slices.Concat(paths, spec.Private) {
		path = filepath.Clean(path)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := makeState(path + "/"); err != nil {
				return err
			}
		case err != nil:
			return err
		case info.Mode()&os.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, which a program in the box could replace: put the file itself there, or remove the link", path)
		}
		if !slices.Contains(slices.Concat(spec.Read, spec.Write, spec.Private), path) {
			spec.Read = append(spec.Read, path)
		}
	}
	return nil
}

// topsIn returns the entries at the top of a directory that some of the paths lie in or lead through. It
// makes no difference whether there is anything at a path yet.
func topsIn(dir string, paths []string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	var tops []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		for _, met := range walkLinks(path) {
			below, ok := strings.CutPrefix(met, real+"/")
			top, _, _ := strings.Cut(below, "/")
			if at := filepath.Join(dir, top); ok && !slices.Contains(tops, at) {
				tops = append(tops, at)
			}
		}
	}
	return tops
}

// maxLinks bounds the links of a path, as the kernel does.
const maxLinks = 40

// walkLinks returns every file, directory and link that is met on the way to the end of an absolute path,
// each by its real directory.
func walkLinks(path string) (met []string) {
	at, rest := "/", strings.Split(filepath.Clean(path), "/")[1:]
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		next := filepath.Join(at, rest[0])
		rest, met = rest[1:], append(met, next)
		to, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		links++
		if !filepath.IsAbs(to) {
			to = filepath.Join(at, to)
		}
		at, rest = "/", append(strings.Split(filepath.Clean(to), "/")[1:], rest...)
	}
	return met
}

// bounds are for a directory of a client, in which an agent of an earlier session may have left any number of files.
type bounds struct{ files, sockets int }

// mostMet bounds the time for which a start looks for sockets, and in which bwrap covers them: that grows with the
// square of their number.
var mostMet = bounds{files: 4 << 20, sockets: 1024}

// findSockets returns the sockets below a directory, but not those below others. A program outside of the box listens
// there, and no network namespace keeps a program in the box from it. Where the worker may not look, a program in the box
// may: it can be the owner, who changes that. Such a directory is returned as a whole. The directory itself may be a link:
// the slash leads the walk to where it ends.
func findSockets(dir string, but []string, most bounds) (found []string, err error) {
	files, top := 0, dir+"/"
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		files++
		hidden := err != nil || d.IsDir() && unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.X_OK, unix.AT_EACCESS) != nil
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case files > most.files:
			return fmt.Errorf("%s holds more than %d files, and a box must look for sockets among them: remove what is not needed", dir, most.files)
		case hidden && path == top:
			return fmt.Errorf("%s cannot be read, and a box must look for sockets in it: see its owner and mode (chmod u+rwx)", dir)
		case !hidden && d.IsDir() && slices.Contains(but, path):
			return fs.SkipDir
		case !hidden && d.Type() != fs.ModeSocket:
			return nil
		case len(found) == most.sockets:
			return fmt.Errorf("%s holds more than %d sockets and directories that cannot be read, such as %s, and a box must cover each: remove those that no program needs", dir, most.sockets, path)
		}
		found = append(found, path)
		if hidden {
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}

// programDirs are the names of directories that people give to programs of their own. The settings of a
// client name such programs, to show a status for example.
var programDirs = []string{"bin", "lib", "node_modules", "scripts", "tools"}

// programEnds are the ends of the names of scripts.
var programEnds = []string{".bash", ".cjs", ".fish", ".js", ".mjs", ".pl", ".py", ".rb", ".sh", ".ts", ".zsh"}

// findPrograms returns the entries at the top of a directory that look like programs.
func findPrograms(dir string) (found []string) {
	entries, _ := os.ReadDir(dir) // of none there are none
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		script := slices.Contains(programEnds, filepath.Ext(e.Name())) || info.Mode()&0o111 != 0
		if !script && info.Mode().IsRegular() {
			_, script = readHashbang(path)
		}
		if info.IsDir() && slices.Contains(programDirs, e.Name()) || info.Mode().IsRegular() && script {
			found = append(found, path)
		}
	}
	return found
}

// textEnds are the ends of the names of texts that settings name, such as instructions and certificates.
var textEnds = []string{".crt", ".md", ".pem", ".toml"}

// plainEnd ends the name of a text too, but of one at the top alone: in directories, clients keep logs and pasted texts of
// other sessions under such names. A file of data, such as .json, can hold credentials.
const plainEnd = ".txt"

// findTexts returns the texts at the top of a directory and the directories there that hold texts or scripts, such as
// hooks that settings name, but not these. It looks at names alone: some file systems call every file a program.
func findTexts(dir string, but []string) (found []string) {
	entries, _ := os.ReadDir(dir) // of none there are none
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		files := []os.DirEntry{e}
		if e.IsDir() {
			files, _ = os.ReadDir(path)
		}
		named := slices.ContainsFunc(files, func(f os.DirEntry) bool {
			end := filepath.Ext(f.Name())
			return f.Type().IsRegular() && (slices.Contains(textEnds, end) || !e.IsDir() && end == plainEnd || e.IsDir() && slices.Contains(programEnds, end))
		})
		if named && !slices.Contains(but, path) {
			found = append(found, path)
		}
	}
	return found
}

// makeState makes a directory, or a file without settings, unless it is there.
func makeState(path string) error {
	if strings.HasSuffix(path, "/") {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".jsonc") {
		_, err = io.WriteString(f, "{}\n")
	}
	return err
}
