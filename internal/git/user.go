package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// User runs git as the user does: with the user's environment and configuration, hooks, filters, merge drivers, identity
// and signing key. It has no time limit, because git may ask the user for a passphrase at the terminal.
type User struct {
	Dir      string   // the working directory of git
	GitDir   string   // when set, the git directory
	WorkTree string   // when set, the top of the work tree
	Config   []string // settings that win over the configuration, each "name=value"
	Environ  []string // variables, each "NAME=value"
}

// located are the variables by which the program that started this process has told git of another repository.
var located = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
}

// userDrain is the time for which a background process of a hook may keep the pipes of an ended git open.
const userDrain = 2 * time.Second

// Run runs git and returns its standard output. The error is an *Error with everything that git and its hooks said,
// except for advice. A context that ends stops git by SIGTERM, so that git removes its locks.
func (u User) Run(ctx context.Context, args ...string) (string, error) {
	var all []string
	for _, setting := range u.Config {
		all = append(all, "-c", setting)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir = u.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(located, name)
	})
	if u.GitDir != "" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+u.GitDir)
	}
	if u.WorkTree != "" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+u.WorkTree)
	}
	cmd.Env = append(cmd.Env, u.Environ...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = userDrain
	out, stderr := bounded{limit: maxOutput}, head{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return out.buf.String(), failedError(ctx, args, allComplaints(stderr.buf.String()), err)
	}
	return out.buf.String(), nil
}

// allComplaints returns the lines of stderr as one, without those that are mere advice.
func allComplaints(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" && line != "Aborting" && !strings.HasPrefix(line, "hint:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
