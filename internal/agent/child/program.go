package child

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// ParseEnviron returns the entries NAME=value of an environment; the last entry
// of a name counts.
func ParseEnviron(environ []string) map[string]string {
	values := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	return values
}

// BuildEnviron returns the environment of a client. It holds each variable of
// ours that is named in names or begins with one of the prefixes, and all of
// extra, which wins.
func BuildEnviron(ours map[string]string, names, prefixes []string, extra map[string]string) []string {
	names = slices.Clone(names)
	for name := range ours {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			names = append(names, name)
		}
	}
	lookup := func(name string) (string, bool) {
		value, ok := ours[name]
		return value, ok
	}
	return proc.Environ(lookup, names, extra)
}

// FindProgram returns the absolute path of a program. Name is a path, or a name
// that is searched for in the directories of path, which has the form of PATH.
// The error names every place that was searched.
func FindProgram(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		file, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		return file, checkExecutable(file)
	}
	var tried []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || slices.Contains(tried, dir) { // the choice must not depend on our working directory
			continue
		}
		if file := filepath.Join(dir, name); checkExecutable(file) == nil {
			return file, nil
		}
		tried = append(tried, dir)
	}
	if tried == nil {
		return "", fmt.Errorf("no program %s: PATH has no absolute directory", name)
	}
	return "", fmt.Errorf("no program %s in %s", name, strings.Join(tried, ", "))
}

func checkExecutable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not an executable program", path)
	}
	return nil
}

// ReadVersion returns the version in the program's answer to --version: the first word that begins with a digit, or the
// last word.
func ReadVersion(ctx context.Context, argv, env []string) (string, error) {
	out := proc.NewHeadTail(256, 0)
	r, err := proc.Run(ctx, proc.Command{
		Argv: append(argv[:len(argv):len(argv)], "--version"), Dir: os.TempDir(), Env: env, Stdout: out,
	})
	words := strings.Fields(out.String())
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s --version timed out", argv[0])
	case r.ExitCode != 0 || len(words) == 0:
		return "", fmt.Errorf("%s --version ended with exit code %d and printed %.80q", argv[0], r.ExitCode, out.String())
	}
	first := slices.IndexFunc(words, func(w string) bool { return w[0] >= '0' && w[0] <= '9' })
	if first < 0 {
		first = len(words) - 1
	}
	return words[first], nil
}
