package proc

import (
	"bytes"
	"fmt"
	"os"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

func isSupervisor(pid int) bool {
	argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // one that is gone is none
	name, _, _ := bytes.Cut(argv, []byte{0})
	return string(name) == supervisor.Name
}
