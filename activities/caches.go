package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/layer"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/toolchain"
)

// shelter is where checks keep what they build, and what else their box shows.
type shelter struct {
	cache  string // XDG_CACHE_HOME
	inside box.Spec
	set    map[string]string // variables
	kept   []kept            // caches that have a layer of the repository
}

// kept is a cache of the checks whose contents later runs on the repository may see.
type kept struct {
	layer   layer.Layer
	upper   string
	release func()
}

// release lets others change the layers.
func (s *shelter) release() {
	for _, k := range s.kept {
		k.release()
	}
}

// shelterChecks chooses the caches of the checks. Checks in the box have a cache of their own, which ends
// with the run. Where the kernel can lay it over the layer of the repository and the user's caches, they
// begin warm, and nothing that a check writes there reaches the user or another run; see keepBuilt. Checks
// without the box share one cache with the other runs on the repository, except for a cache whose variable the run takes
// from the worker. The caller releases the shelter.
func (a *Activities) shelterChecks(ctx context.Context, in CheckInput, b *box.Box, at place) (*shelter, error) {
	names, err := a.baseNames(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("look for the tools of the checks: %w", err)
	}
	tools := namedTools(in.Commands, names)
	kit := a.tools.Find(ctx, tools)
	if slices.Contains(tools, toolchain.Python) {
		a.addVenv(in.Repository, names, &kit)
	}
	if b == nil {
		userPath, _ := a.env("PATH")
		s := shareCaches(a.runs.Cache(in.Repository.Path), kit, userPath)
		for _, c := range kit.Caches {
			if _, set := a.env(c.Variable); set && slices.Contains(in.Env, c.Variable) {
				delete(s.set, c.Variable)
			}
		}
		return s, nil
	}
	s := &shelter{cache: at.cache(), set: kit.Env, inside: box.Spec{Read: kit.Read}}
	if len(kit.Path) > 0 {
		path, _ := a.env("PATH")
		s.set["PATH"] = strings.Join(append(slices.Clone(kit.Path), path), string(filepath.ListSeparator))
	}
	if err := a.addCaches(s, kit, a.runs.Run(in.RunID), in.Repository, b, at.private()); err != nil {
		s.release()
		return nil, err
	}
	return s, os.MkdirAll(s.cache, 0o700)
}

// addCaches adds the caches of a kit to the shelter of a box. Writes to them go to directories below private. Caches that
// are left out are logged in dir.
func (a *Activities) addCaches(s *shelter, kit toolchain.Kit, dir *rundir.Dir, repo run.Repository, b *box.Box, private string) error {
	for _, c := range kit.Caches {
		var refused error
		if c.Dir != "" {
			refused = b.CheckLower(c.Dir)
		}
		if refused != nil {
			_ = dir.Log("check", rundir.Error, "a cache of yours is left out: programs in the sandbox start with an empty one", map[string]any{
				"variable": c.Variable, "directory": c.Dir, "reason": refused.Error(),
			}) // the record does not rely on it
			c.Readable, c.Dir = false, ""
		}
		var repository layer.Layer
		if b.Overlays() {
			repository = layer.At(a.runs.Layers(repo.Path), flatName(c.Name))
		}
		if err := s.addCache(c, private, repository); err != nil {
			return fmt.Errorf("cache %s: %w", c.Name, err)
		}
	}
	return nil
}

// KitFinder finds the toolchains that the base commit of the repository asks for, and their caches, for the programs of an
// agent in the box. The agent sees the same caches as the checks, below a layer of its slot. Without a box it has the
// user's own. The caller must call release, if it is not nil, after the agent has ended.
type KitFinder func(ctx context.Context, repo run.Repository, slot rundir.Slot, want run.Sandbox) (_ agent.Kit, release func(), err error)

// FindKits returns the finder of these activities.
func FindKits(a *Activities) KitFinder { return a.agentKit }

// agentKit implements KitFinder.
func (a *Activities) agentKit(ctx context.Context, repo run.Repository, slot rundir.Slot, want run.Sandbox) (_ agent.Kit, release func(), err error) {
	b, err := a.sandbox.Admit(want)
	if err != nil || b == nil {
		return agent.Kit{}, nil, err
	}
	list, err := git.Repo{Dir: repo.Path}.Run(ctx, "ls-tree", "-r", "-z", "--name-only", string(repo.Base)+":"+repo.Prefix)
	if err != nil {
		return agent.Kit{}, nil, fmt.Errorf("look for the tools of the agent: %w", err)
	}
	var names, top []string
	for name := range strings.SplitSeq(string(list), "\x00") {
		if strings.Count(name, "/") <= maxMarkDepth {
			first, _, _ := strings.Cut(name, "/")
			names, top = append(names, path.Base(name)), append(top, first)
		}
	}
	tools := toolchain.Marked(names)
	kit := a.tools.Find(ctx, tools)
	if slices.Contains(tools, toolchain.Python) {
		a.addVenv(repo, top, &kit)
	}
	s := &shelter{cache: filepath.Join(slot.Path(), "cache"), set: kit.Env, inside: box.Spec{Read: kit.Read}}
	if err := a.addCaches(s, kit, slot.Dir(), repo, b, filepath.Join(slot.Path(), "layers")); err != nil {
		s.release()
		return agent.Kit{}, nil, err
	}
	if slices.Contains(tools, toolchain.Node) {
		s.set["npm_config_prefer_offline"] = "true" // there is no registry to ask
	}
	own := []string{s.cache}
	if err := os.MkdirAll(s.cache, 0o700); err != nil {
		s.release()
		return agent.Kit{}, nil, err
	}
	return agent.Kit{Read: s.inside.Read, Overlays: s.inside.Overlays, Own: own, Path: kit.Path, Env: s.set}, s.release, nil
}

// maxMarkDepth is how many directories down the files are that tell which tools a repository uses.
const maxMarkDepth = 2

// addVenv adds the virtual environment in the user's checkout. One that the base commit has, as a directory or as
// a link to anywhere, is none of the user's. The names are those that the base commit has there.
func (a *Activities) addVenv(repo run.Repository, names []string, kit *toolchain.Kit) {
	for _, name := range []string{".venv", "venv"} {
		if !slices.Contains(names, name) && a.tools.AddVenv(kit, filepath.Join(repo.Path, filepath.FromSlash(repo.Prefix), name)) {
			return
		}
	}
}

// shareCaches gives the checks of a repository that no box holds caches of the tools in one directory.
func shareCaches(dir string, kit toolchain.Kit, userPath string) *shelter {
	s := &shelter{cache: dir, set: kit.Env}
	if venv := kit.Env["VIRTUAL_ENV"]; venv != "" {
		s.set["PATH"] = filepath.Join(venv, "bin") + string(filepath.ListSeparator) + userPath
	}
	for _, c := range kit.Caches {
		s.setVariables(c, filepath.Join(dir, c.Name))
	}
	return s
}

// flatName turns the name of a cache into the name of one directory.
func flatName(name string) string { return strings.ReplaceAll(name, "/", "-") }

// addCache lays a private layer over the layer of the repository and the cache of the user. With the zero
// layer, which stands for no overlays, the checks read the user's cache if the tool can, and begin with an
// empty one if it cannot.
func (s *shelter) addCache(c toolchain.Cache, layers string, repository layer.Layer) error {
	own := filepath.Join(s.cache, c.Name)
	at := own
	switch {
	case repository != layer.Layer{}:
		below, release, err := repository.Use()
		if err != nil {
			return err
		}
		private := filepath.Join(layers, flatName(c.Name))
		o := box.Overlay{Lower: c.Dir, Above: below, Upper: filepath.Join(private, "upper"), Work: filepath.Join(private, "work"), Target: own}
		if c.Dir == "" {
			o.Lower, o.Above = below, ""
		}
		s.kept = append(s.kept, kept{repository, o.Upper, release})
		if err := git.RemoveTree(o.Work); err != nil {
			return err
		}
		for _, dir := range []string{o.Upper, o.Work} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		s.inside.Overlays = append(s.inside.Overlays, o)
	case c.Readable && c.Dir != "":
		at = c.Dir
		s.inside.Read = append(s.inside.Read, c.Dir)
	}
	s.setVariables(c, at)
	return makeCacheDir(s.cache, c.Name)
}

// setVariables names the directory of a cache to its tool.
func (s *shelter) setVariables(c toolchain.Cache, at string) {
	for range c.Above {
		at = filepath.Dir(at)
	}
	for _, name := range []string{c.Variable, c.Also} {
		if name != "" {
			s.set[name] = c.Prefix + at
		}
	}
}

// isUsers reports whether the commit of the checks is the user's: the base commit of the run, which HEAD of the
// user's own checkout is, or comes from. The base commit of a continued run can be what another run has made.
func (a *Activities) isUsers(ctx context.Context, in CheckInput) bool {
	if in.Commit != in.Repository.Base {
		return false
	}
	_, err := git.Repo{Dir: in.Repository.Path}.Run(ctx, "merge-base", "--is-ancestor", string(in.Commit), "HEAD")
	if err != nil && git.ExitCode(err) != 1 {
		a.logNotKept(in, err)
	}
	return err == nil
}

// keepBuilt keeps the files that checks on a commit of the user's have built and downloaded, for all later runs on the
// repository. The user's own tests could have left the same files in a cache. Checks on
// anything that a run has made keep nothing, and neither do checks after them, as the checks of a run that was reset:
// they could forge the verdict on another run. So could commands that an agent has chosen: a run with read-only
// caches keeps nothing. Keeping only saves time, so its faults are only logged in the run. The shelter must be
// released.
func (a *Activities) keepBuilt(ctx context.Context, in CheckInput, s *shelter, at place) {
	if own, err := at.isRunsOwn(); err != nil || own || in.CacheReadOnly {
		return
	}
	for _, k := range s.kept {
		if err := k.layer.Keep(ctx, k.upper); err != nil {
			a.logNotKept(in, err)
			return
		}
	}
}

func (a *Activities) logNotKept(in CheckInput, why error) {
	_ = a.runs.Run(in.RunID).Log("check", rundir.Info, "the build results of the checks are not kept for later runs", map[string]any{"reason": why.Error()})
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

// baseNames returns the names in the directory where the checks run, at the commit where the run began.
func (a *Activities) baseNames(ctx context.Context, in CheckInput) ([]string, error) {
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return nil, err
	}
	defer release()
	return w.Tree(ctx, in.Repository.Base).Names("")
}

// namedTools returns the tools that the checks name. A check that names none has those that the
// repository uses, whose names at the top are given.
func namedTools(commands, names []string) []toolchain.Tool {
	var tools []toolchain.Tool
	for _, command := range commands {
		named := toolchain.Named(command)
		if len(named) == 0 {
			named = toolchain.Marked(names)
		}
		tools = append(tools, named...)
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}
