package engine_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// unknown is a user id that the password file does not have.
const unknown = 12345

// TestAUserWhomThePasswordFileDoesNotKnow starts the engine as in a container with an arbitrary user id. Finding B13.
func TestAUserWhomThePasswordFileDoesNotKnow(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only the superuser starts a process as another user")
	}
	if _, err := user.LookupId(strconv.Itoa(unknown)); err == nil {
		t.Skipf("user %d has a name here", unknown)
	}
	program, err := engine.Program(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  []string
	}{
		{"without HOME", nil},
		{"at home in the root directory", []string{"HOME=/", "USER="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "u") // that of the test lies in one of root's own
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			self := filepath.Join(dir, "test")
			for from, to := range map[string]string{os.Args[0]: self, program: filepath.Join(dir, "engine")} {
				b, err := os.ReadFile(from)
				if err == nil {
					err = proctest.WriteProgram(to, b)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(dir, unknown, unknown); err != nil {
				t.Fatal(err)
			}
			f := startAs(t, self, append(tt.env, engine.ProgramVariable+"="+filepath.Join(dir, "engine"), "PATH="+os.Getenv("PATH"),
				parentVariable+"="+filepath.Join(dir, "engine.db")))
			if status, err := os.Stat(f.DB); err != nil || status.Sys().(*syscall.Stat_t).Uid != unknown {
				t.Errorf("database %s is not that user's: %v", f.DB, err)
			}
		})
	}
}

// startAs runs the test binary, which starts an engine, as the unknown user.
func startAs(t *testing.T, self string, env []string) (f engine.File) {
	t.Helper()
	cmd := exec.Command(self)
	cmd.Dir = filepath.Dir(self)
	cmd.Env = env
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unknown, Gid: unknown}}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &f)
	}
	if err != nil {
		t.Fatalf("the engine did not start: %v", err)
	}
	return f
}
