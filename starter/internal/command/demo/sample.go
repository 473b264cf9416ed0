package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// sample holds the repository and the recorded answers of the demo. The names of files that
// Go's tools would take for ours end in .txt.
//
//go:embed sample
var sample embed.FS

// prepareSample creates the sample.
func (d *demo) prepareSample(ctx context.Context, dir string) error {
	if _, err := git.Version(ctx); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("the demo needs the go command for `go test`: %w", err)
	}
	d.cache = strings.TrimSpace(string(out))
	if d.home, err = freshDir(dir, "ratchet-demo"); err != nil {
		return err
	}
	if err := unpackSample(d.home); err != nil {
		return err
	}
	d.repo = filepath.Join(d.home, "bill")
	repo := git.Repo{Dir: d.repo}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "Split a bill"}} {
		if _, err := repo.Run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// freshDir creates a directory with the first free name of name, name-2, name-3 ...
func freshDir(parent, name string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join(parent, name)
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", dir, n)
		}
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

func unpackSample(dir string) error {
	return fs.WalkDir(sample, "sample", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimSuffix(strings.TrimPrefix(name, "sample"), ".txt"))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		b, err := sample.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
}
