package engine

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTheLeash tries the shell of systems whose kernel tells no child of the death of its parent.
func TestTheLeash(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(sh *exec.Cmd, stdin interface{ Close() error }) error
	}{
		{"the parent is gone", func(_ *exec.Cmd, stdin interface{ Close() error }) error { return stdin.Close() }},
		{"the parent asks", func(sh *exec.Cmd, _ interface{ Close() error }) error { return sh.Process.Signal(syscall.SIGTERM) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			left := filepath.Join(t.TempDir(), "left")
			sh := exec.Command("/bin/sh", "-c", leash, "sh", "/bin/sh", "-c", `: >"$0"; umask; read -r line && exit 3; exec sleep 1000`, left)
			stdin, err := sh.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := sh.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := sh.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "0077" && lines.Text() != "077" {
				t.Errorf("the mask of files is %q", lines.Text())
			}
			if err := tt.end(sh, stdin); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() { // until the program has ended: it holds the other end
			}
			_ = sh.Wait()
			if info, err := os.Stat(left); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}
