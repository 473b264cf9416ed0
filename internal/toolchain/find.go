package toolchain

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// Cache is a cache of one tool.
type Cache struct {
	Dir  string // the user's own, absolute; empty: the user has none
	Name string // where the tool looks for it below XDG_CACHE_HOME
	// Variable names the cache to the tool; empty: the tool finds it by XDG_CACHE_HOME alone.
	Variable string
	// Also is another variable for the same; empty: none. Prefix stands before both values.
	Also, Prefix string
	// Above is the number of directories that the variable's value lies above the cache.
	Above int
	// Readable reports that the tool works with a cache that it cannot write.
	Readable bool
}

// Kit holds what tools need.
type Kit struct {
	Read   []string // directories of toolchains outside of /usr and /opt
	Path   []string // to put before PATH
	Caches []Cache
	Env    map[string]string
}

// Finder finds the kits of one user. New makes it.
type Finder struct {
	lookup func(string) (string, bool)
	named  []string

	mu    sync.Mutex
	goEnv map[string]string // once it is known
}

// New returns a finder. Lookup finds the user's variables, as os.LookupEnv does. Named are directories of
// toolchains that every kit has, with their programs in the directory or in its bin.
func New(lookup func(string) (string, bool), named ...string) *Finder {
	return &Finder{lookup: lookup, named: named}
}

// Find returns the kit of the tools. Of toolchains that do not exist it has nothing.
func (f *Finder) Find(ctx context.Context, tools []Tool) Kit {
	k := Kit{Env: map[string]string{}}
	for _, dir := range f.named {
		k.Read, k.Path = append(k.Read, dir), append(k.Path, ProgramDir(dir))
	}
	for _, t := range tools {
		switch t {
		case Go:
			f.addGo(ctx, &k)
		case Node:
			k.addCache(Cache{Dir: f.dir("npm_config_cache", ".npm"), Name: "npm", Variable: "npm_config_cache"})
			k.addCache(Cache{Dir: f.dir("npm_config_store_dir", f.below("XDG_DATA_HOME", ".local/share", "pnpm/store")), Name: "pnpm-store", Variable: "npm_config_store_dir", Also: "pnpm_config_store_dir"})
			k.addCache(Cache{Dir: f.below("XDG_CACHE_HOME", ".cache", "pnpm"), Name: "pnpm"})
			k.addCache(Cache{Dir: f.dir("YARN_CACHE_FOLDER", f.below("XDG_CACHE_HOME", ".cache", "yarn")), Name: "yarn", Variable: "YARN_CACHE_FOLDER"})
			k.addCache(Cache{Dir: f.dir("YARN_GLOBAL_FOLDER", ".yarn/berry"), Name: "yarn-berry", Variable: "YARN_GLOBAL_FOLDER"})
			k.addToolchain(filepath.Dir(f.programDir("node")), ".nvm/versions/node/")
		case Python:
			k.addCache(Cache{Dir: f.dir("PIP_CACHE_DIR", ".cache/pip"), Name: "pip", Variable: "PIP_CACHE_DIR"})
			k.addCache(Cache{Dir: f.dir("UV_CACHE_DIR", f.below("XDG_CACHE_HOME", ".cache", "uv")), Name: "uv", Variable: "UV_CACHE_DIR"})
			k.addToolchain(pyenvVersion(f.programDir("python3")), ".pyenv/versions/")
		case Rust:
			f.addRust(&k)
		case Java:
			// Of ~/.m2 and ~/.gradle the rest configures the tool, and may hold passwords.
			k.addCache(Cache{Dir: f.dir("", ".m2/repository"), Name: "maven", Variable: "MAVEN_OPTS", Prefix: "-Dmaven.repo.local="})
			gradle := f.dir("GRADLE_USER_HOME", ".gradle")
			k.addCache(Cache{Dir: filepath.Join(gradle, "caches"), Name: "gradle/caches", Variable: "GRADLE_USER_HOME", Above: 1})
			k.addCache(Cache{Dir: filepath.Join(gradle, "wrapper"), Name: "gradle/wrapper"})
		}
	}
	return k
}

// addGo adds Go's module cache and build cache, and a GOROOT that is not the system's.
func (f *Finder) addGo(ctx context.Context, k *Kit) {
	env := f.askGo(ctx)
	k.addCache(Cache{Dir: env["GOMODCACHE"], Name: "go-mod", Variable: "GOMODCACHE", Readable: true})
	k.addCache(Cache{Dir: env["GOCACHE"], Name: "go-build", Variable: "GOCACHE"})
	for _, name := range goSettings {
		if value := env[name]; value != "" && !(strings.Contains(value, "@") && strings.Contains(value, "://")) {
			k.Env[name] = value
		}
	}
	if root := env["GOROOT"]; root != "" && !isSystem(root) && isDir(root) {
		k.Read, k.Path = append(k.Read, root), append(k.Path, filepath.Join(root, "bin"))
	}
}

// addRust adds the registry of cargo, and the toolchains of rustup.
func (f *Finder) addRust(k *Kit) {
	home := f.dir("CARGO_HOME", ".cargo")
	k.addCache(Cache{Dir: filepath.Join(home, "registry"), Name: "cargo/registry", Variable: "CARGO_HOME", Above: 1, Readable: true})
	rustup, bin := f.dir("RUSTUP_HOME", ".rustup"), filepath.Join(home, "bin")
	if isDir(rustup) && isDir(bin) && !isSystem(rustup) {
		k.Read, k.Path = append(k.Read, rustup, bin), append(k.Path, bin)
		k.Env["RUSTUP_HOME"] = rustup
	}
}

// ProgramDir returns the directory of a toolchain's programs: bin in its directory, or that directory.
func ProgramDir(dir string) string {
	if bin := filepath.Join(dir, "bin"); isDir(bin) {
		return bin
	}
	return dir
}

// addCache adds a cache. The user may have none.
func (k *Kit) addCache(c Cache) {
	if !isDir(c.Dir) {
		c.Dir = ""
	}
	k.Caches = append(k.Caches, c)
}

// addToolchain adds the directory of one version of a toolchain, if it lies in such a place.
func (k *Kit) addToolchain(dir, place string) {
	if strings.Contains(dir, "/"+place) && isDir(dir) {
		k.Read, k.Path = append(k.Read, dir), append(k.Path, filepath.Join(dir, "bin"))
	}
}

// pyenvVersion returns the directory of the Python version that a directory of programs belongs to.
// Pyenv puts one directory of stand-ins on PATH, and names the user's version in a file.
func pyenvVersion(programs string) string {
	root := filepath.Dir(programs)
	if filepath.Base(programs) != "shims" {
		return root
	}
	f, err := os.Open(filepath.Join(root, "version"))
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 64)
	n, _ := f.Read(b)
	name, _, _ := strings.Cut(string(b[:n]), "\n")
	if name == "" || name != filepath.Base(name) {
		return ""
	}
	return filepath.Join(root, "versions", name)
}

// dir returns the directory that a variable names, or the one below HOME. It is empty if neither is
// known.
func (f *Finder) dir(variable, below string) string {
	if dir, _ := f.lookup(variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	home, _ := f.lookup("HOME")
	switch {
	case filepath.IsAbs(below):
		return below
	case !filepath.IsAbs(home):
		return ""
	}
	return filepath.Join(home, below)
}

// below returns a path below the directory that a variable names, or below one of HOME.
func (f *Finder) below(variable, home, path string) string {
	if dir := f.dir(variable, home); dir != "" {
		return filepath.Join(dir, path)
	}
	return ""
}

// programDir returns the directory of a program on the user's PATH, with its links resolved; empty if
// there is none.
func (f *Finder) programDir(name string) string {
	list, _ := f.lookup("PATH")
	for _, dir := range filepath.SplitList(list) {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err == nil && filepath.IsAbs(dir) {
			return filepath.Dir(real)
		}
	}
	return ""
}

// askLimit bounds a question to a tool.
const askLimit = 20 * time.Second

// goSettings are the user's settings by which a build takes its modules from where the user takes them.
// goVariables has the directories first.
var (
	goSettings  = []string{"GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOFLAGS"}
	goVariables = append([]string{"GOROOT", "GOMODCACHE", "GOCACHE"}, goSettings...)
)

// askGo returns Go's directories by `go env`. It asks once, outside of any repository, so that no
// repository chooses the toolchain that answers.
func (f *Finder) askGo(ctx context.Context) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.goEnv != nil {
		return f.goEnv
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out := proc.NewHeadTail(4<<10, 0)
	dir := f.programDir("go")
	if dir == "" {
		return nil
	}
	end, err := proc.Run(ctx, proc.Command{
		Argv:   append([]string{filepath.Join(dir, "go"), "env"}, goVariables...),
		Dir:    "/",
		Env:    proc.Environ(f.lookup, append([]string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GOENV", "GOPATH", "GOMODCACHE", "GOCACHE"}, goSettings...), map[string]string{"GOTOOLCHAIN": "local"}),
		Stdout: out,
	})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if err != nil || end.ExitCode != 0 || len(lines) != len(goVariables) {
		return nil
	}
	f.goEnv = map[string]string{}
	for i, name := range goVariables {
		f.goEnv[name] = lines[i]
		if i < len(goVariables)-len(goSettings) {
			f.goEnv[name] = ""
			if filepath.IsAbs(lines[i]) {
				f.goEnv[name] = filepath.Clean(lines[i])
			}
		}
	}
	return f.goEnv
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return path != "" && filepath.IsAbs(path) && err == nil && info.IsDir()
}

// isSystem reports whether every box shows the directory, with its links resolved.
func isSystem(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && box.InSystem(real)
}
