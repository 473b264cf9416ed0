// Package proctest has processes for tests.
package proctest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Ended returns the id of a process that has ended and was waited for.
func Ended(t testing.TB) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// WriteProgram writes a file that can be executed at once. While it is open for writing no child of this process begins: the
// child would hold it open, and the kernel refuses to execute what is open for writing (ETXTBSY).
func WriteProgram[Text string | []byte](path string, text Text) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o755)
}
