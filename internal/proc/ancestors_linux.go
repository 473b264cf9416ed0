package proc

import (
	"bytes"
	"fmt"
	"os"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

func isSupervisor(pid int) bool {
	argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // a process that is gone has no name
	name, _, _ := bytes.Cut(argv, []byte{0})
	return string(name) == supervisor.Name
}
