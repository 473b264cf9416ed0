package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// commandLine is the worker against a server, without the configuration that
// the machine may have.
func commandLine(t *testing.T, address string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "TEMPORAL_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, asWorker+"=1", "TEMPORAL_ADDRESS="+address, "TEMPORAL_CONFIG_FILE="+filepath.Join(t.TempDir(), "none"))
	return cmd
}

func TestWorkerSaysOneLineAndServesUntilItIsTold(t *testing.T) {
	t.Parallel()
	e, err := engine.Start(t.Context(), engine.Options{DB: filepath.Join(t.TempDir(), "engine.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop(context.Background())
	cmd := commandLine(t, e.Address, "--runs-dir", filepath.Join(t.TempDir(), ".runs"), "--provider-env", "PATH")
	for _, name := range []string{"TEMPORAL_TLS_CLIENT_CERT_PATH", "TEMPORAL_TLS_CLIENT_KEY_PATH", "TEMPORAL_TLS_SERVER_CA_CERT_PATH"} {
		cmd.Env = append(cmd.Env, name+"="+e.Key.Path)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "serving task queue ratchet of "+e.Address) {
		t.Errorf("ready line %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// The exit code is that of starter, as README.md lists it.
func TestServerThatIsNotThereIsOneLine(t *testing.T) {
	cmd := commandLine(t, "127.0.0.1:1", "--runs-dir", filepath.Join(t.TempDir(), ".runs"), "--sandbox", "off")
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n") // the first is about the sandbox
	if cmd.ProcessState.ExitCode() != 6 || len(lines) != 2 || !strings.Contains(lines[1], "127.0.0.1:1") {
		t.Errorf("got %v with %q, want exit code 6 and a second line that names 127.0.0.1:1", err, out.String())
	}
}
