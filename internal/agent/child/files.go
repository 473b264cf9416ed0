package child

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// ProgramFiles returns the files and directories that the program of argv consists of, as far as they
// are outside of the system's directories: the program with its interpreters, the files among its
// arguments, and the packages that they belong to. Path has the form of PATH.
func ProgramFiles(argv []string, path string) []string {
	var found []string
	add := func(path string) {
		if !box.InSystem(path) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	for i, arg := range argv {
		if info, err := os.Stat(arg); err != nil || !filepath.IsAbs(arg) || !info.Mode().IsRegular() {
			continue
		}
		next := filepath.Clean(arg)
		for range maxInterpreters {
			real, err := filepath.EvalSymlinks(next)
			if err != nil {
				break
			}
			add(next)
			add(packageOf(real))
			if i > 0 { // no kernel reads the first line of an argument
				break
			}
			if next = interpreterOf(next, path); next == "" {
				break
			}
		}
	}
	return found
}

// maxInterpreters bounds a chain of scripts that run scripts, as the kernel does.
const maxInterpreters = 5

// packageOf returns the directory that the file of a program needs: the one with all packages of
// Node.js beside it, or a virtual environment of Python; and the file alone otherwise.
func packageOf(file string) string {
	const modules = "/node_modules/"
	if i := strings.Index(file, modules); i >= 0 {
		return file[:i+len(modules)-1]
	}
	if prefix := filepath.Dir(filepath.Dir(file)); filepath.Base(filepath.Dir(file)) == "bin" {
		if _, err := os.Stat(filepath.Join(prefix, "pyvenv.cfg")); err == nil {
			return prefix
		}
	}
	return file
}

// maxHashbang bounds the first line of a script, as the kernel does.
const maxHashbang = 256

// readHashbang returns the first line of a script without "#!"; ok is false for another file. It waits for no fifo.
func readHashbang(script string) (line string, ok bool) {
	real, err := filepath.EvalSymlinks(script)
	if err != nil {
		return "", false
	}
	f, err := file.Open(real)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, _ := bufio.NewReader(io.LimitReader(f, maxHashbang)).ReadString('\n')
	return strings.CutPrefix(text, "#!")
}

// interpreterOf returns the absolute path of the program that runs a script, or "". The author of the script, who may be a
// stranger, wrote its first line: what a box shows because of it is a program of the system, one in the script's own
// package, or one that PATH finds by its name.
func interpreterOf(script, path string) string {
	line, ok := readHashbang(script)
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" {
		return findEnvProgram(words[1:], path)
	}
	program := filepath.Clean(words[0])
	real, err := filepath.EvalSymlinks(program)
	if err != nil || !filepath.IsAbs(program) || checkExecutable(real) != nil {
		return ""
	}
	own, _ := filepath.EvalSymlinks(script) // the first line came from there
	named, _ := FindProgram(filepath.Base(program), path)
	found, err := filepath.EvalSymlinks(named)
	if box.InSystem(program) || strings.HasPrefix(real, packageOf(own)+"/") || err == nil && found == real {
		return program
	}
	return ""
}

// findEnvProgram returns the program that env runs with the words, or "". An option can have a value of its own, so that
// the program may not be found; a path is no program, because the script would choose it.
func findEnvProgram(words []string, path string) string {
	for _, word := range words {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		program, err := FindProgram(word, path)
		if err != nil || strings.Contains(word, "/") {
			return ""
		}
		return program
	}
	return ""
}
