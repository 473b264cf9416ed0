package main

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/localhost"
)

// visit is a person at the terminal of a demo.
type visit struct {
	*seat
	dir string
}

// visitDemo starts the real program at a terminal, as a person does.
func visitDemo(t *testing.T, program string) *visit {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "demo")
	cmd.Dir = t.TempDir()
	return &visit{sitDown(t, cmd, 92, 40), cmd.Dir}
}

// life is a process at one moment.
type life struct {
	pid       int
	key, argv string
}

// serving returns the engine and the worker that the demo named last.
func (v *visit) serving() (engine, worker life) {
	v.Helper()
	shown := v.shown.String()
	at := strings.LastIndex(shown, "engine in process ")
	if at < 0 {
		v.Fatalf("no processes are named:\n%s", shown)
	}
	var p struct{ Engine, Worker int }
	if _, err := fmt.Sscanf(shown[at:], "engine in process %d, worker in process %d", &p.Engine, &p.Worker); err != nil {
		v.Fatal(err)
	}
	of := func(pid int) life {
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return life{pid, process.StartKey(pid), strings.ReplaceAll(string(argv), "\x00", " ")}
	}
	return of(p.Engine), of(p.Worker)
}

// checkServing checks that both are alive and what they are said to be.
func (v *visit) checkServing(engine, worker life) {
	v.Helper()
	if !process.Runs(engine.pid, engine.key) || !strings.Contains(engine.argv, "ratchet-engine") || !strings.Contains(engine.argv, v.dir) {
		v.Errorf("the engine is %+v", engine)
	}
	if !process.Runs(worker.pid, worker.key) || !strings.Contains(worker.argv, " up --"+localhost.ForDemoFlag) {
		v.Errorf("the worker is %+v", worker)
	}
	if process.Parent(engine.pid) != worker.pid || process.Parent(worker.pid) != v.cmd.Process.Pid {
		v.Errorf("the demo, %d, has started %d, and that one %d", v.cmd.Process.Pid, process.Parent(engine.pid), process.Parent(worker.pid))
	}
}

// leavesNothing checks that nothing runs in the directory of the demo, or names it.
func (v *visit) leavesNothing() {
	v.Helper()
	eventually.Holds(v.T, "nothing of the demo is left", func() bool {
		links, _ := filepath.Glob("/proc/[0-9]*/cwd")
		inside := slices.ContainsFunc(links, func(link string) bool {
			dir, _ := os.Readlink(link)
			return strings.HasPrefix(dir, v.dir)
		})
		return !inside && len(speaking(v.dir)) == 0
	})
}

// TestDemoSurvivesTheDeathOfItsEngineAndWorker watches the demo as a person does, and the machine beside
// it: the processes that the demo names are real, those that it kills are dead, and the repository holds
// one commit of each patch.
func TestDemoSurvivesTheDeathOfItsEngineAndWorker(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	v := visitDemo(t, buildStarter(t))
	v.awaits(gatePrompt, 1)
	engine, worker := v.serving()
	v.checkServing(engine, worker)
	v.does("y", "Kill them?")
	v.does("k", "Both are dead")
	v.awaitsAfter("Both are dead", gatePrompt)
	shown := v.shown.String()
	for _, dead := range []life{engine, worker} {
		if process.Runs(dead.pid, dead.key) {
			t.Errorf("process %d is alive: %s", dead.pid, dead.argv)
		}
		if !strings.Contains(shown, fmt.Sprintf("kill -9 %d", dead.pid)) {
			t.Errorf("kill -9 %d is not told", dead.pid)
		}
	}
	for _, want := range []string{fmt.Sprintf("its worker (process %d) ended", worker.pid), "one commit, one answer paid", "in attempt 2."} {
		if !strings.Contains(shown, want) {
			t.Errorf("the demo does not say %q", want)
		}
	}
	second, again := v.serving()
	v.checkServing(second, again)
	if second.pid == engine.pid || again.pid == worker.pid {
		t.Errorf("engine %d and worker %d are said to serve again", second.pid, again.pid)
	}
	checkPicture(t, shown)
	v.answers("y")
	if code := v.exitCode(); code != 0 {
		t.Errorf("the demo ends with exit code %d", code)
	}
	v.leavesNothing()
	patches := patchesOn(t, filepath.Join(v.dir, "ratchet-demo", "bill"))
	if len(patches) != 2 || patches[0] == patches[1] {
		t.Errorf("patches on the branch: %v", patches)
	}
}

func TestDemoThatIsEndedLeavesNothing(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	program := buildStarter(t)
	for name, at := range map[string]func(*visit){
		"while the engine starts":    func(v *visit) { v.awaits("starts the engine", 1) },
		"at a question":              func(v *visit) { v.awaitsPrompt() },
		"while it starts them again": afterKill,
	} {
		t.Run("interrupted "+name, func(t *testing.T) {
			v := visitDemo(t, program)
			at(v)
			v.types("\x03")
			if code := v.exitCode(); code != exit.Interrupted {
				t.Errorf("exit code %d", code)
			}
			v.leavesNothing()
		})
	}
	// Without a terminal no SIGHUP tells the child that the demo is dead.
	t.Run("killed", func(t *testing.T) {
		v := &visit{&seat{T: t, running: t.Context()}, t.TempDir()}
		v.cmd = exec.CommandContext(t.Context(), program, "demo", "--dir", v.dir)
		v.cmd.Stdout = &v.shown
		if err := v.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		v.awaits("engine in process", 1)
		v.checkServing(v.serving())
		if err := v.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = v.cmd.Wait()
		v.leavesNothing()
	})
}

// afterKill goes on until engine and worker have just been killed.
func afterKill(v *visit) {
	v.awaits(gatePrompt, 1)
	v.does("y", "Kill them?")
	v.does("k", "Both are dead")
}

var (
	moved    = regexp.MustCompile(`(?m)^.*\r\x1b\[K`) // what a moving line has shown
	colour   = regexp.MustCompile(`\x1b\[\d*m`)
	pictured = regexp.MustCompile(`(?m)^<text class="l"[^>]*>(.*)</text>$`)
	tag      = regexp.MustCompile(`<[^>]*>`)
	changing = regexp.MustCompile(`\b[0-9a-f]{7,}\b|[0-9]+|\s+`)
	lasting  = regexp.MustCompile(`\s+[0-9hms.]+$`)
	someone  = regexp.MustCompile(`approved by .*`)
)

// constant returns the words of a line that are the same in every demo.
func constant(line string) string {
	line = lasting.ReplaceAllString(strings.TrimSpace(line), "")
	return changing.ReplaceAllString(someone.ReplaceAllString(line, "approved"), "#")
}

// checkPicture checks that the demo shows each line of the picture in the README.
func checkPicture(t *testing.T, shown string) {
	t.Helper()
	lines := map[string]bool{}
	for line := range strings.Lines(colour.ReplaceAllString(moved.ReplaceAllString(shown, ""), "")) {
		lines[constant(line)] = true
	}
	svg, err := os.ReadFile("../docs/kill.svg")
	if err != nil {
		t.Fatal(err)
	}
	found := pictured.FindAllStringSubmatch(string(svg), -1)
	if len(found) < 15 {
		t.Errorf("the picture has %d lines", len(found))
	}
	for _, m := range found {
		if line := html.UnescapeString(tag.ReplaceAllString(m[1], "")); !lines[constant(line)] {
			t.Errorf("the demo does not show %q, as docs/kill.svg does: change the line there", line)
		}
	}
}
