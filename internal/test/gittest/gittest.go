// Package gittest runs git for tests: with an identity of its own, and without the configuration of the user or the
// machine. No product code imports it.
package gittest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var variables = map[string]string{
	"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
	"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@localhost",
	"GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@localhost",
}

// Isolate sets the variables for this process and for all that it starts. Call it in TestMain where the code under test
// runs git as the user does.
func Isolate() {
	for name, value := range variables {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

// Command returns a git command in the directory.
func Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// Run runs git in the directory and returns its output without white space around it. Git that fails ends the test.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(Output(t, dir, args...))
}

// Output is Run with the output as it is.
func Output(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := Command(context.WithoutCancel(t.Context()), dir, args...).CombinedOutput() // cleanups call it too
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
