package engine

import (
	"os"
	"strings"
)

// bootID returns the random id that the kernel has given itself at its start. It is empty where it cannot be read.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
