package host

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// freeMemory returns how many bytes new programs can have on this machine, and in the cgroup of this process. What cannot
// be read bounds nothing.
func freeMemory() uint64 {
	free := uint64(math.MaxUint64)
	if kib, ok := valueOf("/proc/meminfo", "MemAvailable:"); ok {
		free = kib << 10
	}
	cgroup, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(cgroup)) {
		path, unified := strings.CutPrefix(strings.TrimSpace(line), "0::")
		dir := filepath.Join("/sys/fs/cgroup", path)
		most, bounded := number(filepath.Join(dir, "memory.max"))
		used, known := number(filepath.Join(dir, "memory.current"))
		if !unified || !bounded || !known {
			continue
		}
		cached, _ := valueOf(filepath.Join(dir, "memory.stat"), "inactive_file")
		free = min(free, most-min(most, used-min(used, cached)))
	}
	return free
}

// number returns the number that a file consists of.
func number(file string) (uint64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// valueOf returns the number behind a name at the beginning of a line.
func valueOf(file, name string) (uint64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, err := strconv.ParseUint(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
