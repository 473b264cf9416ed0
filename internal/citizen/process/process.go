// Package process tells whether a process that a file names still is the one
// that was meant: numbers are given out again, so a number alone says little.
package process

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Plausible says whether a process with that number can own anything: zero and
// negative ones address groups, and 1 adopts orphans.
func Plausible(pid int) bool { return pid > 1 }

// StartKey tells a process from a later one with the same number. It is empty
// when the process is gone or cannot be seen; an empty key matches nothing.
// Keys with different prefixes cannot be compared.
func StartKey(pid int) string {
	if pid <= 0 {
		return ""
	}
	return startKey(pid)
}

// Is says whether the process of that number is the one of that key.
func Is(pid int, key string) bool { return key != "" && StartKey(pid) == key }

// Parent is the number of a process's parent, zero when it cannot be learned.
func Parent(pid int) int {
	if pid <= 0 {
		return 0
	}
	return parent(pid)
}

// Gone says whether there is certainly no process of that number. One that
// belongs to somebody else is there; an error that we do not know proves
// nothing.
func Gone(pid int) bool {
	return Plausible(pid) && absent(unix.Kill(pid, 0))
}

// absent says whether what came of signalling a process proves that there is
// none.
func absent(err error) bool { return errors.Is(err, unix.ESRCH) }

// Replaced says whether the process of that number certainly is not the one of
// that key any more, but a later one.
func Replaced(pid int, key string) bool {
	now := StartKey(pid)
	scheme, _, ok := strings.Cut(key, ":")
	return ok && now != key && strings.HasPrefix(now, scheme+":")
}

// Space names the space that numbers of processes count in, where there can be
// several on one machine; empty when it cannot be learned.
func Space() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return space
}

// number is the value of a field, zero when it is none.
func number(field string) int {
	n, err := strconv.Atoi(strings.TrimSpace(field))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
