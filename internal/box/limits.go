package box

import (
	"fmt"
	"strconv"
)

// limits bound the processes in a box.
type limits struct {
	memory    int64 // bytes of everything in the box together, its /tmp included
	processes int64 // processes and threads at once
	disk      int64 // bytes of /tmp, of /dev/shm, and of each file that is written
}

var standardLimits = limits{memory: 4 << 30, processes: 2048, disk: 2 << 30}

// memoryCause and processCause name a limit that was reached.
func (l limits) memoryCause() string  { return "memory limit " + formatBytes(l.memory) }
func (l limits) processCause() string { return "process limit " + strconv.FormatInt(l.processes, 10) }

// formatBytes writes a size in the largest unit that divides it.
func formatBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; i < len(units)-1 && n != 0 && n%1024 == 0; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%d %s", n, units[i])
}
