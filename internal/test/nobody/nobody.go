// Package nobody runs a test as a user without privileges where the superuser runs the tests. The
// kernel allows root many things that it forbids other users. An attack that root carries out
// therefore proves nothing.
package nobody

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ID is the user id and the group id that such a test runs as.
const ID = 65534

// Lent is a file that the test must be able to reach as that user. The test gets a copy, and
// Variable holds the path of the copy.
type Lent struct{ Variable, Path string }

// Runs reports whether this process is to run the test. A process of the superuser is not. It
// starts the test binary again as the user [ID] with this test alone, in a home and a TMPDIR of its
// own, and takes over the outcome. A test begins:
//
//	if !nobody.Runs(t) {
//		return
//	}
func Runs(t *testing.T, lent ...Lent) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	dir := home(t)
	cmd := exec.CommandContext(t.Context(), lend(t, dir, executable(t)), arguments(t)...)
	cmd.Dir = dir
	cmd.Env = environ(dir)
	for _, l := range lent {
		cmd.Env = append(cmd.Env, l.Variable+"="+lend(t, dir, l.Path))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ID, Gid: ID}}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("as user %d: %v\n%s", ID, err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+t.Name()+" ")):
		t.Skipf("as user %d:\n%s", ID, out)
	default:
		t.Logf("as user %d:\n%s", ID, out)
	}
	return false
}

// home makes a directory owned by that user. Its path is short, because the path of a socket is
// bounded.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "n")
	if err == nil {
		err = os.Chown(dir, ID, ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// arguments returns the arguments of the test binary for this one test.
func arguments(t *testing.T) []string {
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	argv := []string{"-test.run=" + pattern, "-test.v", "-test.count=1"}
	if deadline, ok := t.Deadline(); ok {
		argv = append(argv, fmt.Sprintf("-test.timeout=%s", max(time.Until(deadline).Round(time.Second), time.Second)))
	}
	return argv
}

// environ returns our environment without the variables that point into our own home.
func environ(dir string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "XDG_") })
	return append(env, "HOME="+dir, "TMPDIR="+dir, "USER=nobody")
}

// lend puts a copy of a file into dir that every user can run, as a hard link where possible.
func lend(t *testing.T, dir, path string) string {
	t.Helper()
	to := filepath.Join(dir, filepath.Base(path))
	if info, err := os.Stat(path); err == nil && info.Mode()&0o005 == 0o005 && os.Link(path, to) == nil {
		return to
	}
	if err := errors.Join(copyFile(to, path), os.Chmod(to, 0o755)); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return to
}

// copyFile copies a program as proctest.WriteProgram writes one.
func copyFile(to, from string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}
