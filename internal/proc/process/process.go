// Package process reports whether a process that a file names is still the same process. Process
// numbers are reused, and a number alone therefore says little.
package process

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Plausible reports whether a process with that number can own anything. Zero and negative numbers
// address groups, and 1 adopts orphans.
func Plausible(pid int) bool { return pid > 1 }

// StartKey returns a key that tells a process from a later one with the same number. It is empty
// when the process is gone or cannot be seen; an empty key matches nothing. Keys with different
// prefixes cannot be compared.
func StartKey(pid int) string {
	if pid <= 0 {
		return ""
	}
	return startKey(pid)
}

// Is reports whether the process with that number has that key.
func Is(pid int, key string) bool { return key != "" && StartKey(pid) == key }

// Runs reports whether the process with that number and that key still runs. One that has ended and that
// its parent has not waited for does not.
func Runs(pid int, key string) bool { return Is(pid, key) && !zombie(pid) }

// Parent returns the number of a process's parent, zero when it cannot be learned.
func Parent(pid int) int {
	if pid <= 0 {
		return 0
	}
	return parent(pid)
}

// Gone reports whether there is certainly no process with that number. A process of another user is
// there; an unknown error proves nothing.
func Gone(pid int) bool {
	return Plausible(pid) && absent(unix.Kill(pid, 0))
}

// absent reports whether the error of signalling a process proves that there is none.
func absent(err error) bool { return errors.Is(err, unix.ESRCH) }

// Replaced reports whether the process with that number certainly is a later process than the one
// with that key.
func Replaced(pid int, key string) bool {
	now := StartKey(pid)
	scheme, _, ok := strings.Cut(key, ":")
	return ok && now != key && strings.HasPrefix(now, scheme+":")
}

// Space names the space that process numbers count in, where one machine can have several. It is
// empty when it cannot be learned.
func Space() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return space
}
