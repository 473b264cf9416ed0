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

// layers, from the top: a package may import the layers below its own, and the
// packages of its own directory. Floors ranks the packages of internal.
var layers = [][]string{{"starter", "worker"}, {"host"}, {"workflows"}, {"activities"}, {"internal"}}

// floors ranks the directories of internal, from the top: a package may import
// its own directory and the floors below.
var floors = [][]string{
	{"provider"},
	{"scratch"},
	{"intake", "merge", "workspace"},
	{"agent", "citizen", "patch", "pullrequest", "session", "temporalclient", "ticket"},
	{"answer", "attempts", "check", "checkout", "controlsocket", "delivery", "layer", "prompt", "remote", "review", "rundir", "toolchain"},
	{"egress", "engine"},
	{"box", "hunks", "notify", "toolserver"},
	{"dispatch", "failure", "gate", "git", "proc", "redact", "run", "store", "udiff", "verdict"},
	{"file"},
	{"allow", "display", "exact", "failpoint", "forge", "setup", "syntax", "thinking", "toolcall", "version"},
}

// testRooms are the directories of internal that serve tests alone: they import
// what they need, and no product code imports them.
var testRooms = []string{"test"}

// pure packages decide and do no I/O: of the standard library they import
// nothing that could, and of this module only each other.
var pure = []string{"internal/run", "internal/answer", "internal/gate", "internal/verdict", "internal/prompt", "internal/udiff", "internal/hunks", "internal/notify", "internal/display", "internal/dispatch", "internal/delivery", "internal/review", "internal/toolcall", "internal/allow", "internal/exact", "internal/thinking", "internal/session", "internal/setup", "internal/ticket"}

var touching = []string{"os", "os/exec", "net", "net/http", "io/ioutil", "syscall"}

// vendors are the modules of those whose models and agents runs use.
var vendors = []string{
	"github.com/anthropics/anthropic-sdk-go", "github.com/openai/openai-go", "github.com/coder/acp-go-sdk", "github.com/coder/websocket",
}

// wired are the packages that package host alone wires, with whatever is below them, and those that
// may import them besides.
var wired = map[string][]string{
	"internal/agent/acp": nil, "internal/agent/claude": nil, "internal/agent/codex": nil, "internal/agent/openclaw": nil, "internal/agent/pi": nil,
	"internal/provider/anthropic": nil, "internal/provider/openai": nil, "internal/provider/command": nil, "internal/provider/replay": nil,
	"internal/provider/catalog": { // which check what was named, or name it
		"starter/internal/agentlist", "starter/internal/command/doctor",
		"starter/internal/command/initialize", "starter/internal/command/mcp", "starter/internal/command/merge", "starter/internal/command/retry", "starter/internal/command/session", "starter/internal/newrun", "starter/internal/settings",
	},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", module+"...").Output()
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
	if !strings.HasPrefix(to, module) || sameRoom(from, to) && layer(to) >= 0 {
		return false
	}
	f, t := layer(from), layer(to)
	return f < 0 || t < 0 || t < f || t == f && (layers[f][0] != "internal" || upward(from, to))
}

// room returns the directory of a package: the first below the module's, or
// below internal.
func room(path string) string {
	r, rest, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	if r == "internal" {
		r, _, _ = strings.Cut(rest, "/")
	}
	return r
}

func sameRoom(a, b string) bool { return layer(a) == layer(b) && room(a) == room(b) }

// floor returns the rank of a directory of internal; -1 if it has none.
func floor(room string) int {
	return slices.IndexFunc(floors, func(rooms []string) bool { return slices.Contains(rooms, room) })
}

// upward reports whether an import between two directories of internal does not
// lead to a floor below.
func upward(from, to string) bool {
	f, t := room(from), room(to)
	return t == "" || !servesTests(from) && (servesTests(to) || floor(f) < 0 || floor(t) <= floor(f))
}

// servesTests reports whether a package serves tests alone: those of testRooms, and those named for what they test, such
// as agenttest.
func servesTests(path string) bool {
	return slices.Contains(testRooms, room(path)) || strings.HasSuffix(path, "test")
}

func TestImportsGoOneWay(t *testing.T) {
	list := packages(t)
	if len(list) < 15 {
		t.Fatalf("only %d packages listed", len(list))
	}
	for _, p := range list {
		for _, to := range p.Imports {
			if wrongWay(p.ImportPath, to) || strings.HasPrefix(to, module) && servesTests(to) && !servesTests(p.ImportPath) {
				t.Errorf("%s imports %s", p.ImportPath, to)
			}
		}
	}
}

func TestEveryRoomIsRanked(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		if inside := strings.TrimPrefix(p.ImportPath, module); strings.HasPrefix(inside, "internal/") {
			seen[room(p.ImportPath)] = true
		}
	}
	ranked := slices.Concat(append(floors, testRooms)...)
	for _, r := range ranked {
		if !seen[r] {
			t.Errorf("internal/%s is ranked and does not exist", r)
		}
		delete(seen, r)
	}
	for r := range seen {
		t.Errorf("internal/%s has no place among the floors", r)
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

func TestWorkflowsAndActivitiesLinkNoVendor(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		room := layers[max(layer(p.ImportPath), 0)][0]
		vendor := slices.ContainsFunc(p.Deps, func(dep string) bool {
			return slices.ContainsFunc(vendors, func(module string) bool { return dep == module || strings.HasPrefix(dep, module+"/") })
		})
		if room == "host" && vendor {
			seen++
		}
		if vendor && (room == "workflows" || room == "activities") {
			t.Errorf("%s links a vendor's module: wire it in package host", p.ImportPath)
		}
	}
	if seen == 0 {
		t.Error("not even package host links a vendor's module")
	}
}

func TestOnlyTheHostWiresProvidersAndAgents(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, to := range p.Imports {
			to = strings.TrimPrefix(to, module)
			others, ok := wired[to]
			if !ok {
				continue
			}
			used[to] = true
			_, inside := wired[from]
			if from != "host" && !inside && !slices.Contains(others, from) {
				t.Errorf("%s imports %s: only package host does", from, to)
			}
		}
	}
	if len(used) != len(wired) {
		t.Errorf("%d of %d wired packages are imported at all", len(used), len(wired))
	}
}

// A command is a package that only the root of the program knows: what two commands share is a package beside them.
func TestOnlyTheRootImportsCommands(t *testing.T) {
	const commands = module + "starter/internal/command/"
	seen := 0
	for _, p := range packages(t) {
		for _, to := range p.Imports {
			if !strings.HasPrefix(to, commands) {
				continue
			}
			if p.ImportPath == module+"starter" {
				seen++
			} else {
				t.Errorf("%s imports the command %s: move what they share into a package of its own", p.ImportPath, to)
			}
		}
	}
	if seen == 0 {
		t.Error("the root imports no command")
	}
}

// starting are the packages that may start programs: package proc for all that
// a run executes, the others for programs of ours, git and go. Package command
// only looks for one.
var starting = []string{
	"internal/proc", "internal/git", "internal/engine", "internal/proc/keeper", "internal/provider/command",
	"starter/internal/background", "starter/internal/command/demo", "starter/internal/command/open", "starter/internal/command/register", "starter/internal/draft", "starter/internal/follow",
}

func TestProgramsOfRunsAreStartedInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		inside := strings.TrimPrefix(p.ImportPath, module)
		if slices.Contains(p.Imports, "os/exec") && !slices.Contains(starting, inside) && !slices.Contains(forTests, inside) {
			t.Errorf("%s imports os/exec: start programs by package proc, which ends them and keeps our descriptors from them", inside)
		}
	}
}

// forTests are helpers of tests.
var forTests = []string{"internal/test/forgetest", "internal/test/gittest", "internal/test/nobody", "internal/test/need", "internal/test/pty", "internal/test/proctest", "internal/test/storetest"}

func TestTheRuleCatches(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		wrong    bool
	}{
		{"workflows", "activities", false},
		{"workflows", "starter", true},
		{"activities", "workflows", true},
		{"workflows", "host", true},
		{"host", "workflows", false},
		{"starter", "host", false},
		{"internal/run", "activities", true},
		{"internal/provider/session", "internal/agent", false},
		{"internal/agent/codex", "internal/agent/child", false},
		{"internal/agent/codex", "internal/provider", true},
		{"internal/run", "internal/gate", true}, // a floor's rooms do not know each other
		{"internal/run", "internal/test/need", true},
		{"internal/test/nobody", "internal/engine", false},
		{"internal/test/temporaltest", "internal/test/need", false},
		{"internal/test/agenttest", "internal/test/need", false},
		{"internal/unknown", "internal/run", true},
		{"starter", "starter/internal/story", false},
		{"starter", "worker", true},
		{"starter", "internal/engine", false},
		{"worker", "cmd/tool", true},
	} {
		if got := wrongWay(module+tc.from, module+tc.to); got != tc.wrong {
			t.Errorf("%s -> %s: wrong is %v", tc.from, tc.to, got)
		}
	}
}
