package toolchain_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/internal/toolchain"
)

func TestNamed(t *testing.T) {
	for command, want := range map[string][]toolchain.Tool{
		"go test ./...":                       {toolchain.Go},
		"cd web && npm ci && npm test":        {toolchain.Node},
		"python3 -m pytest -q":                {toolchain.Python},
		"RUSTFLAGS=-Dwarnings cargo test":     {toolchain.Rust},
		"/usr/local/go/bin/go vet ./...":      {toolchain.Go},
		"go build ./... && cargo build":       {toolchain.Go, toolchain.Rust},
		"make test":                           nil,
		"./scripts/going":                     nil,
		"echo cargo.toml going npmx":          nil,
		"test -f a-go && ! grep -q gopher x1": nil,
	} {
		if got := toolchain.Named(command); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", command, got, want)
		}
	}
}

func TestMarked(t *testing.T) {
	got := toolchain.Marked([]string{"README.md", "go.mod", "package.json", "docs"})
	if want := []toolchain.Tool{toolchain.Go, toolchain.Node}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// user is a home with the directories, and a finder for its user.
func user(t *testing.T, vars map[string]string, dirs ...string) (string, *toolchain.Finder) {
	t.Helper()
	home := t.TempDir()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return home, toolchain.New(func(name string) (string, bool) {
		if name == "HOME" {
			return home, true
		}
		v, ok := vars[name]
		return v, ok
	})
}

func TestFindTakesTheCachesThatExist(t *testing.T) {
	elsewhere := t.TempDir()
	home, f := user(t, map[string]string{"PIP_CACHE_DIR": elsewhere, "npm_config_cache": "relative"}, ".npm", ".cargo/registry", ".cargo/bin", ".rustup", ".ssh")
	k := f.Find(t.Context(), []toolchain.Tool{toolchain.Node, toolchain.Python, toolchain.Rust})
	var dirs []string
	for _, c := range k.Caches {
		if c.Dir != "" {
			dirs = append(dirs, c.Dir)
		}
	}
	if want := []string{home + "/.npm", elsewhere, home + "/.cargo/registry"}; !slices.Equal(dirs, want) {
		t.Errorf("caches %v, want %v", dirs, want)
	}
	if want := []string{home + "/.rustup", home + "/.cargo/bin"}; !slices.Equal(k.Read, want) || k.Env["RUSTUP_HOME"] != home+"/.rustup" {
		t.Errorf("reads %v, env %v", k.Read, k.Env)
	}
	_, none := user(t, nil)
	k = none.Find(t.Context(), []toolchain.Tool{toolchain.Node, toolchain.Python, toolchain.Rust, toolchain.Go, toolchain.Java})
	names := map[string]bool{}
	for _, c := range k.Caches {
		if names[c.Name] = true; c.Dir != "" {
			t.Errorf("of an empty home %+v", c)
		}
	}
	if len(k.Read)+len(k.Path) > 0 || !names["go-mod"] || !names["pnpm-store"] || !names["uv"] || !names["maven"] || !names["gradle/caches"] {
		t.Errorf("of an empty home %+v", k)
	}
}

func TestFindTakesWhatIsNamed(t *testing.T) {
	plain, full := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(full, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	k := toolchain.New(none, plain, full).Find(t.Context(), nil)
	if !slices.Equal(k.Read, []string{plain, full}) || !slices.Equal(k.Path, []string{plain, full + "/bin"}) {
		t.Errorf("%+v", k)
	}
}

func TestFindTakesTheVersionThatPyenvNames(t *testing.T) {
	home, _ := user(t, nil, ".pyenv/shims", ".pyenv/versions/3.12.1/bin")
	for name, text := range map[string]string{"shims/python3": "#!/bin/sh\n", "version": "3.12.1\n"} {
		if err := proctest.WriteProgram(filepath.Join(home, ".pyenv", name), text); err != nil {
			t.Fatal(err)
		}
	}
	find := func() toolchain.Kit {
		return toolchain.New(func(name string) (string, bool) {
			return map[string]string{"HOME": home, "PATH": "relative:" + home + "/.pyenv/shims"}[name], true
		}).Find(t.Context(), []toolchain.Tool{toolchain.Python})
	}
	if k := find(); !slices.Equal(k.Read, []string{home + "/.pyenv/versions/3.12.1"}) || len(k.Path) != 1 {
		t.Errorf("%+v", k)
	}
	if err := os.WriteFile(filepath.Join(home, ".pyenv", "version"), []byte("../../.ssh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if k := find(); len(k.Read) > 0 {
		t.Errorf("a version that is a path: %+v", k)
	}
}

func TestFindAsksGo(t *testing.T) {
	need.Program(t, "go")
	mod, build := t.TempDir(), t.TempDir()
	_, f := user(t, map[string]string{"PATH": os.Getenv("PATH"), "GOMODCACHE": mod, "GOCACHE": build})
	k := f.Find(t.Context(), []toolchain.Tool{toolchain.Go})
	if len(k.Caches) != 2 || k.Caches[0].Dir != mod || k.Caches[1].Dir != build {
		t.Errorf("%+v", k)
	}
}

func TestAddVenvTakesNoLinkAndNoStrangeInterpreter(t *testing.T) {
	home, f := user(t, nil, "repo", "secrets", ".pyenv/versions/3.12.1/bin", "elsewhere/bin")
	for _, file := range []string{".pyenv/versions/3.12.1/bin/python3", "elsewhere/bin/python3"} {
		if err := proctest.WriteProgram(filepath.Join(home, file), "#!/bin/sh\n"); err != nil {
			t.Fatal(err)
		}
	}
	venv := func(name, interpreter string) string {
		dir := filepath.Join(home, "repo", name)
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "pyvenv.cfg"), []byte("home = /usr/bin\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(interpreter, filepath.Join(dir, "bin", "python3")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	good, strange := venv(".venv", home+"/.pyenv/versions/3.12.1/bin/python3"), venv("strange", home+"/elsewhere/bin/python3")
	link := filepath.Join(home, "repo", "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{good: true, strange: false, link: false, filepath.Join(home, "secrets"): false, filepath.Join(home, "none"): false} {
		k := f.Find(t.Context(), nil)
		if got := f.AddVenv(&k, dir); got != want || (len(k.Read) > 0) != want {
			t.Errorf("%s: %v, %+v", dir, got, k)
		}
	}
	k := f.Find(t.Context(), nil)
	f.AddVenv(&k, good)
	if !slices.Equal(k.Read, []string{home + "/.pyenv/versions/3.12.1", good}) || k.Path[0] != good+"/bin" || k.Env["VIRTUAL_ENV"] != good {
		t.Errorf("%+v", k)
	}
}
