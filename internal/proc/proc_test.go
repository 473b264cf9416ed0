package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

var background = context.Background()

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestResultSaysHowTheProgramEnded(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   proc.Result
	}{
		"success":              {"exit 0", proc.Result{End: proc.Exited}},
		"exit code":            {"exit 7", proc.Result{ExitCode: 7, End: proc.Exited}},
		"largest exit code":    {"exit 255", proc.Result{ExitCode: 255, End: proc.Exited}},
		"killed by itself":     {"kill -KILL $$", proc.Result{ExitCode: -1, Signal: "SIGKILL", End: proc.Exited}},
		"terminated by itself": {"kill -TERM $$", proc.Result{ExitCode: -1, Signal: "SIGTERM", End: proc.Exited}},
		"crash":                {"kill -SEGV $$", proc.Result{ExitCode: -1, Signal: "SIGSEGV", End: proc.Exited}},
		"killed in a subshell": {"(kill -KILL $$)", proc.Result{ExitCode: -1, Signal: "SIGKILL", End: proc.Exited}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := proc.Run(t.Context(), proc.Command{Argv: sh(test.script)})
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func TestProgramThatCannotStart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain.txt"), "text", 0o600)
	write(t, filepath.Join(dir, "lost-interpreter"), "#!/no/such/interpreter\n", 0o700)
	write(t, filepath.Join(dir, "no-format"), "\x00\x01\x02", 0o700)
	for name, test := range map[string]struct {
		command proc.Command
		want    error // nil: any
	}{
		"not on the path":                 {proc.Command{Argv: []string{"no-such-program"}, Env: []string{"PATH=/usr/bin:/bin"}}, proc.ErrNotFound},
		"no path at all":                  {proc.Command{Argv: []string{"sh"}}, proc.ErrNotFound},
		"only on a relative path":         {proc.Command{Argv: []string{"no-format"}, Dir: dir, Env: []string{"PATH=."}}, proc.ErrNotFound},
		"absolute path that is not there": {proc.Command{Argv: []string{"/no/such/program"}}, proc.ErrNotFound},
		"relative path that is not there": {proc.Command{Argv: []string{"./program"}, Dir: dir}, proc.ErrNotFound},
		"file without execute permission": {proc.Command{Argv: []string{"./plain.txt"}, Dir: dir}, proc.ErrNotExecutable},
		"directory":                       {proc.Command{Argv: []string{dir}}, proc.ErrNotExecutable},
		"not executable on the path":      {proc.Command{Argv: []string{"plain.txt"}, Env: []string{"PATH=" + dir}}, proc.ErrNotExecutable},
		"missing interpreter":             {proc.Command{Argv: []string{"./lost-interpreter"}, Dir: dir}, proc.ErrNotExecutable},
		"no executable format":            {proc.Command{Argv: []string{"./no-format"}, Dir: dir}, proc.ErrNotExecutable},
		"missing working directory":       {proc.Command{Argv: sh("true"), Dir: filepath.Join(dir, "none")}, os.ErrNotExist},
		"working directory is a file":     {proc.Command{Argv: sh("true"), Dir: filepath.Join(dir, "plain.txt")}, nil},
		"no program":                      {proc.Command{}, nil},
		"empty program":                   {proc.Command{Argv: []string{""}}, nil},
		"NUL in an argument":              {proc.Command{Argv: sh("true\x00")}, nil},
		"NUL in the environment":          {proc.Command{Argv: sh("true"), Env: []string{"A=\x00"}}, nil},
		"argument beyond what exec takes": {proc.Command{Argv: sh(strings.Repeat("#", 1<<20))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := proc.Run(t.Context(), test.command)
			if _, ok := errors.AsType[*proc.StartError](err); !ok || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v; want a StartError of %v", err, test.want)
			}
		})
	}
}

func TestContextThatIsOverStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "started")
	_, err := proc.Run(ctx, proc.Command{Argv: sh("touch " + file)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the program ran")
	}
}

func TestDeadlineAndCancelAreToldApart(t *testing.T) {
	deadline, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got, err := proc.Run(deadline, proc.Command{Argv: self("play-sleeper")})
	if want := (proc.Result{ExitCode: -1, Signal: "SIGTERM", End: proc.Deadline}); err != nil || got != want {
		t.Errorf("deadline: got %+v, %v; want %+v", got, err, want)
	}

	ctx, cancel := context.WithCancel(t.Context())
	got, err = proc.Run(ctx, proc.Command{Argv: self("play-deaf"), Stdout: after("deaf", cancel), Grace: 20 * time.Millisecond})
	if want := (proc.Result{ExitCode: -1, Signal: "SIGKILL", End: proc.Canceled}); err != nil || got != want {
		t.Errorf("cancel: got %+v, %v; want %+v", got, err, want)
	}
}

func TestCancelAtAnyMoment(t *testing.T) {
	for i := range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
		got, err := proc.Run(ctx, proc.Command{Argv: self("play-sleeper"), Grace: time.Minute})
		want := proc.Result{ExitCode: -1, Signal: "SIGTERM", End: proc.Canceled}
		if got != want && !errors.Is(err, context.Canceled) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
}

func TestProgramMayEndPolitelyInItsGrace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	got, err := proc.Run(ctx, proc.Command{
		Argv:   self("play-polite"),
		Stdout: io.MultiWriter(&out, after("polite", cancel)),
		Grace:  time.Minute,
	})
	if want := (proc.Result{ExitCode: 7, End: proc.Canceled}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if out.String() != "polite\nbye\n" {
		t.Errorf("output %q", out.String())
	}
}

func TestEnvironmentArgumentsAndDirectoryArriveExactly(t *testing.T) {
	t.Setenv("RATCHET_TEST_SECRET", "canary")
	env := []string{"GODEBUG=inittrace=1", "BYTES=\xff\xfe", "EMPTY=", "LINES=a\nb"}
	for name, env := range map[string][]string{"some": env, "none": nil, "more than a pipe holds": {"BIG=" + strings.Repeat("x", 100<<10), "Z=1"}} {
		var out, stderr bytes.Buffer
		argv := []string{"/usr/bin/env", "-0"}
		if _, err := proc.Run(t.Context(), proc.Command{Argv: argv, Env: env, Stdout: &out, Stderr: &stderr}); err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, entry := range env {
			want += entry + "\x00"
		}
		if out.String() != want || stderr.Len() > 0 {
			t.Errorf("%s: got %.200q %.200q; want %.200q", name, out.String(), stderr.String(), want)
		}
	}

	dir := t.TempDir()
	write(t, filepath.Join(dir, "args"), "#!/bin/sh\npwd -P\nprintf '<%s>' \"$@\"\n", 0o700)
	var out bytes.Buffer
	if _, err := proc.Run(t.Context(), proc.Command{Argv: []string{"./args", "", "a b", "\xff", "--"}, Dir: dir, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	real, _ := filepath.EvalSymlinks(dir)
	if want := real + "\n<><a b><\xff><-->"; out.String() != want {
		t.Errorf("got %q; want %q", out.String(), want)
	}
}

func TestStandardInput(t *testing.T) {
	big := strings.Repeat("0123456789abcde\n", 1<<16)
	hung, hungWriter := io.Pipe() // a Read that never returns
	defer hungWriter.Close()
	for name, test := range map[string]struct {
		stdin  io.Reader
		script string
		want   string
	}{
		"none is empty":                      {nil, "cat", ""},
		"all of it":                          {strings.NewReader(big), "wc -c | tr -d ' '", "1048576\n"},
		"program that reads a part":          {strings.NewReader(big), "head -n 1", "0123456789abcde\n"},
		"program that does not read":         {strings.NewReader(big), "echo done", "done\n"},
		"program that closes it and goes on": {strings.NewReader(big), "exec <&-; echo done", "done\n"},
		"reader that hangs":                  {hung, "echo done", "done\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := proc.Run(t.Context(), proc.Command{Argv: sh(test.script), Env: []string{"PATH=/usr/bin:/bin"}, Stdin: test.stdin, Stdout: &out})
			if err != nil || got.ExitCode != 0 || out.String() != test.want {
				t.Errorf("got %+v, %v, %q; want %q", got, err, out.String(), test.want)
			}
		})
	}
}

func TestStreamsInOnePipeKeepTheirOrder(t *testing.T) {
	var out bytes.Buffer
	script := "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
	if _, err := proc.Run(t.Context(), proc.Command{Argv: sh(script), Stdout: &out, Stderr: &out}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		if want := []string{"out", "err"}[i%2]; !strings.HasPrefix(line, want) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if len(lines) != 400 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestManyAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			var out bytes.Buffer
			got, err := proc.Run(t.Context(), proc.Command{Argv: sh("echo $N; exit $N"), Env: []string{"N=" + string(rune('0'+i%10))}, Stdout: &out})
			if err != nil || got.ExitCode != i%10 || strings.TrimSpace(out.String()) != string(rune('0'+i%10)) {
				t.Errorf("%d: got %+v, %v, %q", i, got, err, out.String())
			}
		})
	}
	all.Wait()
}

// after calls then once the word has been written.
func after(word string, then func()) io.Writer {
	return &trigger{word: word, then: sync.OnceFunc(then)}
}

type trigger struct {
	word string
	seen []byte
	then func()
}

func (w *trigger) Write(p []byte) (int, error) {
	w.seen = append(w.seen, p...)
	if bytes.Contains(w.seen, []byte(w.word)) {
		w.then()
	}
	return len(p), nil
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
