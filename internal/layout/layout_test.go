package layout_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ratchet-dev/ratchet/"

// layers, from the top: a package may import those of its own room in
// internal, and the rooms below it.
var layers = [][]string{{"starter", "worker"}, {"workflows"}, {"activities"}, {"internal"}}

// pure packages decide and do no I/O: of the standard library they import
// nothing that could, and of this module only each other.
var pure = []string{"internal/run", "internal/answer", "internal/gate", "internal/verdict", "internal/prompt", "internal/udiff", "internal/dispatch"}

var touching = []string{"os", "os/exec", "net", "net/http", "io/ioutil", "syscall"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func layer(path string) int {
	room, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	return slices.IndexFunc(layers, func(rooms []string) bool { return slices.Contains(rooms, room) })
}

func wrongWay(from, to string) bool {
	if !strings.HasPrefix(to, module) {
		return false
	}
	f, t := layer(from), layer(to)
	return f < 0 || t < 0 || t < f || t == f && layers[f][0] != "internal" && !sameRoom(from, to)
}

func sameRoom(a, b string) bool {
	room := func(p string) string { r, _, _ := strings.Cut(strings.TrimPrefix(p, module), "/"); return r }
	return room(a) == room(b)
}

func TestImportsGoOneWay(t *testing.T) {
	list := packages(t)
	if len(list) < 15 {
		t.Fatalf("only %d packages listed", len(list))
	}
	for _, p := range list {
		for _, to := range p.Imports {
			if wrongWay(p.ImportPath, to) {
				t.Errorf("%s imports %s", p.ImportPath, to)
			}
		}
	}
}

func TestPurePackagesTouchNothing(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		if !slices.Contains(pure, strings.TrimPrefix(p.ImportPath, module)) {
			continue
		}
		seen++
		for _, to := range p.Imports {
			inside := strings.TrimPrefix(to, module)
			if slices.Contains(touching, to) || inside != to && !slices.Contains(pure, inside) && !strings.HasPrefix(inside, "internal/prompt/") {
				t.Errorf("%s imports %s", p.ImportPath, to)
			}
		}
	}
	if seen != len(pure) {
		t.Errorf("%d of %d pure packages found", seen, len(pure))
	}
}

// starting are the packages that may start programs: package proc for all that
// a run executes, the others for programs of ours, git and go. Package command
// only looks for one.
var starting = []string{"internal/proc", "internal/git", "internal/engine", "internal/proc/process", "internal/provider/command", "starter"}

func TestProgramsOfRunsAreStartedInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		inside := strings.TrimPrefix(p.ImportPath, module)
		if slices.Contains(p.Imports, "os/exec") && !slices.Contains(starting, inside) && !slices.Contains(forTests, inside) {
			t.Errorf("%s imports os/exec: start programs by package proc, which ends them and keeps our descriptors from them", inside)
		}
	}
}

// forTests are helpers of tests.
var forTests = []string{"internal/nobody", "internal/need"}

func TestTheRuleCatches(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		wrong    bool
	}{
		{"workflows", "activities", false},
		{"workflows", "starter", true},
		{"activities", "workflows", true},
		{"internal/run", "activities", true},
		{"internal/run", "internal/gate", false},
		{"starter", "worker", true},
		{"starter", "internal/engine", false},
		{"worker", "cmd/tool", true},
	} {
		if got := wrongWay(module+tc.from, module+tc.to); got != tc.wrong {
			t.Errorf("%s -> %s: wrong is %v", tc.from, tc.to, got)
		}
	}
}
