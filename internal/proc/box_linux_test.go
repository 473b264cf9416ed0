package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// pretended is a box that is none: a script starts the program, whose path and arguments it has.
type pretended struct {
	script string
	files  []*os.File
	limits proc.Limits
	ended  func(code int) (string, error)
	err    error

	closed *int
}

func (p pretended) Enclose(argv []string, dir string, env []string) (*proc.Enclosure, error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.ended == nil {
		p.ended = func(int) (string, error) { return "", nil }
	}
	return &proc.Enclosure{
		Argv: append([]string{"/bin/sh", "-c", p.script, "pretended"}, argv...), Files: p.files, Limits: p.limits, Ended: p.ended,
		Close: func() {
			if p.closed != nil {
				*p.closed++
			}
		},
	}, nil
}

// starts is the script of a box that starts its program.
const starts = `exec "$@"`

func TestEndOfAProgramInABox(t *testing.T) {
	notBegun := func(int) (string, error) { return "", errors.New("not begun") }
	reached := func(int) (string, error) { return "memory limit 1 MiB", nil }
	for name, test := range map[string]struct {
		box     pretended
		program string
		want    proc.Result
		err     string // of the box
	}{
		"it passes":                                {pretended{script: starts}, "exit 0", proc.Result{End: proc.Exited}, ""},
		"it fails":                                 {pretended{script: starts}, "exit 3", proc.Result{ExitCode: 3, End: proc.Exited}, ""},
		"it is ended by a signal":                  {pretended{script: `"$@"; exit $?`}, "kill -SEGV $$", proc.Result{ExitCode: -1, Signal: "SIGSEGV", End: proc.Exited}, ""},
		"a code above 128 that is no signal":       {pretended{script: starts}, "exit 250", proc.Result{ExitCode: 250, End: proc.Exited}, ""},
		"128":                                      {pretended{script: starts}, "exit 128", proc.Result{ExitCode: 128, End: proc.Exited}, ""},
		"it reached a limit and passes":            {pretended{script: starts, ended: reached}, "exit 0", proc.Result{End: proc.Exited, Cause: "memory limit 1 MiB"}, ""},
		"a limit ended the box":                    {pretended{script: "kill -KILL $$", ended: reached}, "exit 0", proc.Result{ExitCode: -1, Signal: "SIGKILL", End: proc.Exited, Cause: "memory limit 1 MiB"}, ""},
		"somebody ended the box":                   {pretended{script: "kill -KILL $$"}, "exit 0", proc.Result{}, "SIGKILL"},
		"the sandbox was not set up":               {pretended{script: "echo why >&2; exit 1", ended: notBegun}, "exit 0", proc.Result{}, "not begun: why"},
		"it was not set up, and seems to pass":     {pretended{script: "exit 0", ended: notBegun}, "exit 1", proc.Result{}, "not begun"},
		"it cannot be prepared":                    {pretended{err: errors.New("no such toolchain")}, "exit 0", proc.Result{}, "no such toolchain"},
		"its control group cannot be entered":      {pretended{script: starts, limits: proc.Limits{Tasks: [][2]*os.File{{readable(t), readable(t)}}}}, "exit 0", proc.Result{}, "bad file descriptor"},
		"the directory of its group is none":       {pretended{script: starts, limits: proc.Limits{Group: readable(t)}}, "exit 0", proc.Result{}, "bad file descriptor"},
		"a file that is larger than it may become": {pretended{script: `"$@"; exit $?`, limits: proc.Limits{FileSize: 4}}, "echo 12345 > $0.x; exit 5", proc.Result{ExitCode: -1, Signal: "SIGXFSZ", End: proc.Exited}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			closed, ran := 0, filepath.Join(t.TempDir(), "ran")
			test.box.closed = &closed
			got, err := proc.Run(t.Context(), proc.Command{Argv: []string{"/bin/sh", "-c", "touch $0; " + test.program, ran}, Env: somePath, Box: test.box})
			boxErr, ok := errors.AsType[*proc.BoxError](err)
			if got != test.want || ok != (test.err != "") || ok && !strings.Contains(boxErr.Error(), test.err) || !ok && err != nil {
				t.Errorf("got %+v, %v; want %+v, %q", got, err, test.want, test.err)
			}
			if _, statErr := os.Stat(ran); statErr == nil && err != nil {
				t.Error("the program ran")
			}
			if test.box.err == nil && closed != 1 {
				t.Errorf("closed %d times", closed)
			}
		})
	}
}

// readable is a file that takes no writes and is no directory.
func readable(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestProgramInABoxIsStoppedLikeAnyOther(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, err := proc.Run(ctx, proc.Command{
		Argv: self("play-polite"), Stdout: after("polite", cancel), Box: pretended{script: starts, ended: func(int) (string, error) { return "", errors.New("no status") }},
	})
	if want := (proc.Result{ExitCode: 7, End: proc.Canceled}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A file that we hand over could be opened again by its descriptor, with more rights and outside of
// what the box shows.
func TestProgramInABoxGetsPipes(t *testing.T) {
	dir := t.TempDir()
	in, err := os.Create(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	io.WriteString(in, "input\n")
	in.Seek(0, io.SeekStart)
	const list = "cat; readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; env; ls /proc/self/fd"
	for name, box := range map[string]proc.Box{"in a box": pretended{script: starts}, "the control": nil} {
		if _, err := proc.Run(t.Context(), proc.Command{Argv: sh(list), Env: []string{"PATH=/usr/bin:/bin", "SECRET=x"}, Stdin: in, Stdout: out, Stderr: out, Box: box}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		boxed := box != nil
		if !strings.HasPrefix(string(text), "input\n") || strings.Contains(string(text), dir) == boxed || strings.Contains(string(text), "SECRET") == boxed {
			t.Errorf("%s:\n%s", name, text)
		}
		in.Seek(0, io.SeekStart)
		out.Truncate(0)
		out.Seek(0, io.SeekStart)
	}
}

func TestBoxGetsItsDescriptors(t *testing.T) {
	var files []*os.File
	for _, text := range []string{"three", "four"} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	var out, same bytes.Buffer
	_, err := proc.Run(t.Context(), proc.Command{
		Argv: sh("exit 0"), Env: somePath, Stdout: &out, Stderr: &same,
		Box: pretended{script: "cat <&3; cat <&4; ls /proc/self/fd | tr '\\n' ' '", files: files},
	})
	if err != nil || !strings.HasPrefix(out.String(), "threefour0 1 2 3 4 ") || strings.Contains(out.String(), " 6 ") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// With version 1 the thread that starts the program enters the group, and leaves it again.
func TestSupervisorLeavesTheGroupOfItsProgram(t *testing.T) {
	own := "/sys/fs/cgroup/pids"
	dir := filepath.Join(own, "ratchet-test-"+uuid.NewString())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("no control group of version 1 can be made here: ", err)
	}
	defer os.Remove(dir)
	var pair [2]*os.File
	for i, at := range []string{dir, own} {
		f, err := os.OpenFile(filepath.Join(at, "tasks"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		pair[i] = f
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	name := filepath.Base(dir)
	got, err := proc.Run(ctx, proc.Command{
		Argv: sh("grep -q " + name + " /proc/self/cgroup && while grep -q " + name + " /proc/$PPID/cgroup; do sleep 0.01; done"),
		Env:  somePath, Box: pretended{script: starts, limits: proc.Limits{Tasks: [][2]*os.File{pair}}},
	})
	if want := (proc.Result{End: proc.Exited}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The program is in its control group from its first instruction on.
func TestProgramStartsInItsGroup(t *testing.T) {
	var dir string
	for _, mount := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		at := filepath.Join(mount, "ratchet-test-"+uuid.NewString())
		if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil && os.Mkdir(at, 0o755) == nil {
			dir = at
			break
		}
	}
	if dir == "" {
		t.Skip("no control group of version 2 can be made here")
	}
	defer os.Remove(dir)
	group, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	var out bytes.Buffer
	_, err = proc.Run(t.Context(), proc.Command{
		Argv: sh("cat /proc/self/cgroup /proc/$PPID/cgroup"), Env: somePath, Stdout: &out, Box: pretended{script: starts, limits: proc.Limits{Group: group}},
	})
	if n := strings.Count(out.String(), "/"+filepath.Base(dir)+"\n"); err != nil || n != 1 { // the supervisor stays outside
		t.Errorf("%v: in the group %d times:\n%s", err, n, out.String())
	}
}
