package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/toolchain"
)

// shelter is where checks keep what they build, and what else their box shows.
type shelter struct {
	cache  string // XDG_CACHE_HOME
	inside box.Spec
	set    map[string]string // variables
}

// shelterChecks chooses the caches of the checks. Checks in the box have a cache of their own, which ends
// with the run. Where the kernel can lay it over the user's caches, they begin warm, and nothing that a
// check writes there reaches the user or another run. Checks without the box share one cache with the
// other runs on the repository.
func (a *Activities) shelterChecks(ctx context.Context, in CheckInput, b *box.Box, at place) (shelter, error) {
	if b == nil {
		return shelter{cache: a.runs.Cache(in.Repository.Path)}, nil
	}
	tools, err := namedTools(ctx, in)
	if err != nil {
		return shelter{}, err
	}
	kit := a.tools.Find(ctx, tools)
	s := shelter{cache: filepath.Join(at.layers, "cache"), set: kit.Env, inside: box.Spec{Read: kit.Read}}
	if len(kit.Path) > 0 {
		path, _ := a.env("PATH")
		s.set["PATH"] = strings.Join(append(slices.Clone(kit.Path), path), string(filepath.ListSeparator))
	}
	for _, c := range kit.Caches {
		refused := b.CheckPath(c.Dir)
		if refused != nil {
			c.Readable = false
			_ = a.runs.Run(in.RunID).Log("check", rundir.Error, "a cache of the user is left out, and the checks begin with an empty one", map[string]any{
				"variable": c.Variable, "directory": c.Dir, "reason": refused.Error(),
			}) // the record does not rely on it
		}
		if err := s.addCache(c, at.layers, refused == nil && b.Overlays()); err != nil {
			return shelter{}, fmt.Errorf("cache %s of the checks: %w", c.Name, err)
		}
	}
	return s, os.MkdirAll(s.cache, 0o700)
}

// addCache lays a private layer over a cache of the user. Without overlays the checks read the user's
// cache if the tool can, and begin with an empty one if it cannot.
func (s *shelter) addCache(c toolchain.Cache, layers string, overlays bool) error {
	own := filepath.Join(s.cache, c.Name)
	at := own
	switch {
	case overlays:
		layer := filepath.Join(layers, "layers", strings.ReplaceAll(c.Name, "/", "-"))
		o := box.Overlay{Lower: c.Dir, Upper: filepath.Join(layer, "upper"), Work: filepath.Join(layer, "work"), Target: own}
		if err := git.RemoveTree(o.Work); err != nil {
			return err
		}
		for _, dir := range []string{o.Upper, o.Work} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		s.inside.Overlays = append(s.inside.Overlays, o)
	case c.Readable:
		at = c.Dir
		s.inside.Read = append(s.inside.Read, c.Dir)
	}
	if c.Variable != "" {
		for range c.Above {
			at = filepath.Dir(at)
		}
		s.set[c.Variable] = at
	}
	return makeCacheDir(s.cache, c.Name)
}

// makeCacheDir makes the directory name in the cache of a run, which checks can write. What a check has
// put in its way, such as a link that leads out, is removed with all that is in its top directory.
func makeCacheDir(cache, name string) error {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(cache)
	if err != nil {
		return err
	}
	defer root.Close()
	top, _, _ := strings.Cut(name, "/")
	for at := name; at != "."; at = filepath.Dir(at) {
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			continue
		}
		if err := git.RemoveAll(root, top); err != nil {
			return err
		}
	}
	return root.MkdirAll(name, 0o700)
}

// namedTools returns the tools that the checks name. A check that names none has those that the
// repository uses at the commit where the run began.
func namedTools(ctx context.Context, in CheckInput) ([]toolchain.Tool, error) {
	var tools []toolchain.Tool
	for _, command := range in.Commands {
		named := toolchain.Named(command)
		if len(named) == 0 {
			list, err := git.Repo{Dir: in.Repository.Path}.Run(ctx, "ls-tree", "-z", "--name-only", string(in.Repository.Base)+":"+in.Repository.Prefix)
			if err != nil {
				return nil, fmt.Errorf("look for the tools of the checks: %w", err)
			}
			named = toolchain.Marked(strings.Split(string(list), "\x00"))
		}
		tools = append(tools, named...)
	}
	slices.Sort(tools)
	return slices.Compact(tools), nil
}
