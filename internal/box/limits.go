package box

import (
	"cmp"
	"fmt"
	"strconv"
)

// Limits bound the processes in a box. A member that is zero has the value of [DefaultLimits].
type Limits struct {
	Memory    int64 // bytes of everything in the box together, its /tmp included
	Processes int64 // processes and threads at once
	Disk      int64 // bytes of /tmp, of /dev/shm, and of each file that is written
}

// DefaultLimits are the limits of a Spec that has none.
var DefaultLimits = Limits{Memory: 4 << 30, Processes: 2048, Disk: 2 << 30}

// orDefault fills in the members that are zero.
func (l Limits) orDefault() Limits {
	for _, m := range []struct {
		value    *int64
		standard int64
	}{
		{&l.Memory, DefaultLimits.Memory},
		{&l.Processes, DefaultLimits.Processes},
		{&l.Disk, DefaultLimits.Disk},
	} {
		*m.value = cmp.Or(*m.value, m.standard)
	}
	return l
}

// validate refuses limits below what any program needs.
func (l Limits) validate() error {
	const leastMemory, leastProcesses, leastDisk = 16 << 20, 8, 1 << 20
	switch {
	case l.Memory < leastMemory:
		return fmt.Errorf("memory limit %s: at least %s", formatBytes(l.Memory), formatBytes(leastMemory))
	case l.Processes < leastProcesses:
		return fmt.Errorf("process limit %d: at least %d", l.Processes, leastProcesses)
	case l.Disk < leastDisk:
		return fmt.Errorf("disk limit %s: at least %s", formatBytes(l.Disk), formatBytes(leastDisk))
	}
	return nil
}

// memoryCause and processCause name a limit that was reached.
func (l Limits) memoryCause() string  { return "memory limit " + formatBytes(l.Memory) }
func (l Limits) processCause() string { return "process limit " + strconv.FormatInt(l.Processes, 10) }

// formatBytes writes a size in the largest unit that divides it.
func formatBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; i < len(units)-1 && n != 0 && n%1024 == 0; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%d %s", n, units[i])
}
