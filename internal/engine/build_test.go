package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tier "github.com/ratchet-dev/ratchet/internal/test/need"
)

// module makes the sources of a program that builds in a moment.
func module(t *testing.T, main string) builder {
	t.Helper()
	b := builder{sources: t.TempDir(), dir: filepath.Join(t.TempDir(), "cache")}
	for name, content := range map[string]string{"go.mod": "module example.com/small\n", "main.go": main} {
		if err := os.WriteFile(filepath.Join(b.sources, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// heard collects what a builder says.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) listen(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}

func (h *heard) builds() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if strings.HasPrefix(line, "building") {
			n++
		}
	}
	return n
}

func TestProgramIsBuiltOnce(t *testing.T) {
	b := module(t, "package main\nfunc main() {}\n")
	var h heard
	b.progress = h.listen
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			path, err := b.program(t.Context())
			if err == nil {
				err = executable(path)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if n := h.builds(); n != 1 {
		t.Errorf("built %d times: %q", n, h.lines)
	}
}

func TestProgramThatDoesNotCompile(t *testing.T) {
	b := module(t, "package main\nfunc main() { undefined() }\n")
	_, err := b.program(t.Context())
	if err == nil || !strings.Contains(err.Error(), "main.go:2") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v", err)
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	b := module(t, "package main\nfunc main() {}\n")
	ctx, cancel := context.WithCancel(t.Context())
	b.progress = func(string) { cancel() }
	if _, err := b.program(ctx); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("error is %v", err)
	}
	b.progress = nil
	if _, err := b.program(t.Context()); err != nil {
		t.Errorf("the next build: %v", err)
	}
}

func TestBuildWithoutGo(t *testing.T) {
	b := module(t, "package main\nfunc main() {}\n")
	t.Setenv("PATH", t.TempDir())
	_, err := b.program(t.Context())
	if err == nil || !strings.Contains(err.Error(), ProgramVariable) || !strings.Contains(err.Error(), "TEMPORAL_ADDRESS") {
		t.Errorf("error is %v", err)
	}
}

func TestBuildOutputIsCounted(t *testing.T) {
	var o buildOutput
	for _, part := range []string{"go: downloading example.com/a v1.0.0\nexam", "ple.com/a\nexample.com/b/c\n", "# example.com/d\nmain.go:2:3: undefined: x\n"} {
		if _, err := o.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if fetched, compiled := o.counts(); fetched != 1 || compiled != 2 {
		t.Errorf("fetched %d, compiled %d", fetched, compiled)
	}
	if got := o.last(); got != "main.go:2:3: undefined: x" {
		t.Errorf("last line is %q", got)
	}
}

func TestDigestFollowsTheSources(t *testing.T) {
	b := module(t, "package main\nfunc main() {}\n")
	first, err := digestInputs(b.sources)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) string {
		if err := os.WriteFile(filepath.Join(b.sources, name), []byte("package main\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := digestInputs(b.sources)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if write("main_test.go") != first {
		t.Error("a test changes the digest")
	}
	if write("more.go") == first {
		t.Error("a new file leaves the digest as it was")
	}
}

func TestABuildShowsWhatRemains(t *testing.T) {
	b := module(t, "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/small/one\"\n)\n\nfunc main() { fmt.Println(one.One) }\n")
	if err := os.Mkdir(filepath.Join(b.sources, "one"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.sources, "one", "one.go"), []byte("package one\n\nconst One = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := b.countStale(t.Context()); n < 2 {
		t.Errorf("%d packages to compile, want the two of the module at least", n)
	}
	if _, err := b.program(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.countStale(t.Context()); n != 1 {
		t.Errorf("%d packages to compile after the build, want the program alone, which has not been installed", n)
	}
}

func TestWhatABuildSays(t *testing.T) {
	var o buildOutput
	var shown, said heard
	tracked := tracker{builder: builder{progress: said.listen, live: shown.listen}, out: &o, begin: time.Now(), at: time.Now(), total: 4}
	tracked.report()
	o.compiled = 2
	tracked.report()
	o.compiled = 4
	tracked.report()
	want := []string{
		"engine [--------------------] 0 of 4 packages compiled, 0s",
		"engine [##########----------] 2 of 4 packages compiled, 0s",
		"engine [####################] 4 packages compiled, linking, 0s",
	}
	if !slices.Equal(shown.lines, want) || len(said.lines) != 0 {
		t.Errorf("shown %q, said %q", shown.lines, said.lines)
	}
	tracked.live = nil
	for _, o.compiled = range []int{0, 0, 1, 1, 4} {
		tracked.report()
	}
	want = []string{"engine: 0 of 4 packages compiled, 0s", "engine: 1 of 4 packages compiled, 0s", "engine: 4 packages compiled, linking, 0s"}
	if !slices.Equal(said.lines, want) {
		t.Errorf("said %q", said.lines)
	}
}

// An embedded engine starts no workers in a cloud, archives nothing and has no other database.
func TestTheEngineLinksNoCloud(t *testing.T) {
	tier.Suite(t, tier.CI)
	t.Parallel()
	sources, err := findSources()
	if err != nil {
		t.Fatal(err)
	}
	cmd := builder{sources: sources}.goCommand(t.Context(), "list", "-deps")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "go.temporal.io/server/temporal") {
		t.Fatalf("%d packages without the server", len(packages))
	}
	for _, path := range packages {
		for _, cloud := range []string{"k8s.io/", "github.com/aws/aws-sdk-go-v2/internal/", "cloud.google.com/go/auth", "google.golang.org/grpc/xds", "github.com/jackc/pgx/v5/pgtype"} {
			if strings.HasPrefix(path, cloud) {
				t.Errorf("the engine links %s", path)
			}
		}
	}
}
