package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds the file of a program by the program's own environment, not ours. It skips
// relative entries of PATH: the choice of the program must not depend on the content of the working
// directory.
func LookPath(program, dir string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		path := program
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		return path, executable(path)
	}
	err := ErrNotFound
	for _, entry := range filepath.SplitList(value(env, "PATH")) {
		if !filepath.IsAbs(entry) {
			continue
		}
		path := filepath.Join(entry, program)
		switch found := executable(path); {
		case found == nil:
			return path, nil
		case found != ErrNotFound:
			err = fmt.Errorf("%s: %w", path, found)
		}
	}
	return "", err
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ErrNotFound
	case info.IsDir(), info.Mode()&0o111 == 0:
		return ErrNotExecutable
	}
	return nil
}

// value returns the last entry of that name, as programs and shells read it.
func value(env []string, name string) string {
	var found string
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			found = v
		}
	}
	return found
}
