package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// ProgramVariable is the environment variable that names the engine's program.
const ProgramVariable = "RATCHET_ENGINE"

const (
	programName  = "ratchet-engine"
	serverModule = "github.com/ratchet-dev/ratchet/internal/engine/server"
)

// Program returns the path of the engine's program. It looks for the program that RATCHET_ENGINE
// names, then for ratchet-engine beside the running executable, and then in the user's cache. It
// builds the program of the cache from the sources of this checkout when it is missing. progress is
// called with lines about the build; it may be nil. A call during a build by another process waits
// for that build.
func Program(ctx context.Context, progress func(line string)) (string, error) {
	return findProgram(ctx, progress, nil)
}

func findProgram(ctx context.Context, progress, live func(line string)) (string, error) {
	path, b, err := locateProgram()
	if path != "" || err != nil {
		return path, err
	}
	b.progress, b.live = progress, live
	return b.program(ctx)
}

// locateProgram returns the program that is there, or the builder that would make it.
func locateProgram() (path string, _ builder, _ error) {
	if path := os.Getenv(ProgramVariable); path != "" {
		if err := executable(path); err != nil {
			return "", builder{}, fmt.Errorf("%s: %w", ProgramVariable, err)
		}
		path, err := filepath.Abs(path)
		return path, builder{}, err
	}
	if path := beside(); path != "" {
		return path, builder{}, nil
	}
	sources, err := findSources()
	if err != nil {
		return "", builder{}, err
	}
	key, err := digestInputs(sources)
	if err != nil {
		return "", builder{}, fmt.Errorf("read the engine's sources: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", builder{}, fmt.Errorf("find a place for the engine's program: %w; or set %s to the path of a built one", err, ProgramVariable)
	}
	b := builder{sources: sources, dir: filepath.Join(cache, "ratchet", "engine-"+key)}
	if built := filepath.Join(b.dir, programName); executable(built) == nil {
		return built, b, nil
	}
	return "", b, nil
}

func beside() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	path := filepath.Join(filepath.Dir(self), programName)
	if executable(path) != nil {
		return ""
	}
	return path
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not a program", path)
	}
	return nil
}

// findSources looks in the directory that this package was compiled from. A binary built with -trimpath
// does not know it: only one that `go run` has just made looks in the working directory and above. Any
// other would execute what a repository has there that its user only wants to work on.
func findSources() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), "server"); isSources(dir) {
			return dir, nil
		}
	}
	if self, err := os.Executable(); err == nil && strings.Contains(filepath.ToSlash(self), "/go-build") {
		if dir := sourcesAbove(); dir != "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("neither the engine program nor its sources were found: put %s of the same release beside this program, "+
		"set %s to the path of a built one, or set TEMPORAL_ADDRESS to use a running server", programName, ProgramVariable)
}

func sourcesAbove() string {
	wd, err := os.Getwd()
	for dir := wd; err == nil; dir = filepath.Dir(dir) {
		if sources := filepath.Join(dir, "internal", "engine", "server"); isSources(sources) {
			return sources
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

var moduleLine = regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(serverModule) + `$`)

func isSources(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && moduleLine.Match(b)
}

// digestInputs returns 16 hex digits over the inputs of the program's build: the sources, the Go version
// and the platform.
func digestInputs(sources string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	root := os.DirFS(sources)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			fmt.Fprintln(h, name, info.Size())
			_, err = io.Copy(h, f)
		}
		return errors.Join(err, f.Close())
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}
