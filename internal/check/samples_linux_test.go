package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// sample is a small project with a test of its own.
type sample struct {
	command, tool string
	read          []string          // toolchains outside of the system's directories
	env           map[string]string // variables of the toolchain
	files         map[string]string // MARK stands for what the test prints
}

const goSample = `package a

import (
	"net"
	"testing"
)

func TestIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	t.Log("MARK")
}
`

const nodeSample = `const {execFileSync} = require('child_process');
const server = require('net').createServer(c => c.end('MARK'));
server.listen(0, '127.0.0.1', () => require('net').connect(server.address().port).on('data', text => {
  console.log(String(text), String(execFileSync('true')));
  server.close();
}));
`

const pythonSample = `import multiprocessing, unittest


def double(n):
    return 2 * n


class Sample(unittest.TestCase):
    def test_it(self):
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(pool.map(double, [1, 2]), [2, 4])
        print('MARK')
`

func samples() map[string]sample {
	home, _ := os.UserHomeDir()
	rustup := filepath.Join(home, ".rustup")
	return map[string]sample{
		"go": {
			command: "go test -v ./...", tool: "go",
			files: map[string]string{"go.mod": "module example.com/sample\n\ngo 1.21\n", "a_test.go": goSample},
		},
		"npm": {
			command: "npm test", tool: "npm",
			files: map[string]string{"package.json": `{"name": "sample", "version": "1.0.0", "scripts": {"test": "node test.js"}}`, "test.js": nodeSample},
		},
		"python": {
			command: "/usr/bin/python3 -m unittest -v", tool: "python3",
			files: map[string]string{"test_a.py": pythonSample},
		},
		"pytest": {
			command: "/usr/bin/python3 -m pytest -s", tool: "py.test-3",
			files: map[string]string{"test_a.py": "def test_it(tmp_path):\n    (tmp_path / 'x').write_text('y')\n    print('MARK')\n"},
		},
		"cargo": {
			command: "cargo test --offline -- --nocapture", tool: "cargo",
			read: []string{filepath.Join(home, ".cargo", "bin"), rustup}, env: map[string]string{"RUSTUP_HOME": rustup},
			files: map[string]string{
				"Cargo.toml": "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
				"src/lib.rs": "#[test]\nfn it() {\n    println!(\"MARK\");\n}\n",
			},
		},
	}
}

// The tests of common projects pass in a box, without a network.
func TestSampleProjectsInABox(t *testing.T) {
	need.Suite(t, need.CI)
	sandbox := openBox(t)
	for name, project := range samples() {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(project.tool); err != nil && name == "cargo" {
				t.Skip("cargo is not installed")
			}
			need.Program(t, project.tool)
			s, mark := project.spec(t), "passed-in-"+name
			s.Box = sandbox
			if name == "go" && sandbox.Overlays() {
				s.Inside.Overlays = []box.Overlay{overBuildCache(t, s.Cache)}
			}
			for file, text := range project.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(s.Dir, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, s.Dir, file, strings.ReplaceAll(text, "MARK", mark), 0o600)
			}
			got := run(t, s).Checks[0]
			if got.Status != check.Pass || got.Sandbox == "" || !strings.Contains(got.Head, mark) {
				t.Errorf("%+v\n%s", got, got.Head)
			}
		})
	}
}

// overBuildCache lays a private layer over the user's own build cache: the standard library need not be
// built again, and nothing of it changes.
func overBuildCache(t *testing.T, cache string) box.Overlay {
	t.Helper()
	lower, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Cleanup(func() { git.RemoveTree(dir) })
	o := box.Overlay{Lower: filepath.Join(lower, "go-build"), Upper: filepath.Join(dir, "upper"), Work: filepath.Join(dir, "work"), Target: filepath.Join(cache, "go-build")}
	for _, d := range []string{o.Lower, o.Upper, o.Work, o.Target} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// spec is the check of a project, with its toolchain.
func (p sample) spec(t *testing.T) check.Spec {
	s := spec(t, p.command)
	s.Cache, s.Timeout, s.Inside.Read = filepath.Join(t.TempDir(), "cache"), 5*time.Minute, p.read
	s.Lookup = func(name string) (string, bool) {
		if name == "PATH" {
			return os.LookupEnv(name)
		}
		value, ok := p.env[name]
		return value, ok
	}
	for name := range p.env {
		s.Env = append(s.Env, name)
	}
	return s
}
