package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pythonPlaces are where version managers keep the interpreters of users.
var pythonPlaces = []string{"/.pyenv/versions/", "/uv/python/"}

// AddVenv adds a virtual environment of Python, which tests then run in. It takes a directory without a link on
// the way, whose interpreter every box shows or belongs to a version manager, and reports whether it did. The
// caller sees to it that the directory is the user's own and no commit's.
func (f *Finder) AddVenv(k *Kit, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != dir {
		return false
	}
	if info, err := os.Lstat(filepath.Join(dir, "pyvenv.cfg")); err != nil || !info.Mode().IsRegular() {
		return false
	}
	interpreter, err := filepath.EvalSymlinks(filepath.Join(dir, "bin", "python3"))
	if err != nil {
		return false
	}
	version := filepath.Dir(filepath.Dir(interpreter))
	inVenv := strings.HasPrefix(interpreter, dir+"/")
	managed := slices.ContainsFunc(pythonPlaces, func(place string) bool { return strings.Contains(version, place) })
	switch {
	case managed && !slices.Contains(k.Read, version):
		k.Read = append(k.Read, version)
	case !managed && !inVenv && !isSystem(filepath.Dir(interpreter)) && !slices.Contains(f.named, version):
		return false
	}
	k.Read = append(k.Read, dir)
	k.Path = append([]string{filepath.Join(dir, "bin")}, k.Path...)
	k.Env["VIRTUAL_ENV"] = dir
	return true
}
