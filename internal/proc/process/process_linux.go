package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Fields of /proc/<pid>/stat, counted from the one after the name.
const (
	stateField  = 0
	parentField = 4 - 3
	startField  = 22 - 3
)

func startKey(pid int) string {
	ticks := stat(pid, startField)
	if ticks == "" || strings.Trim(ticks, "0123456789") != "" {
		return ""
	}
	return "linux:" + ticks
}

func parent(pid int) int {
	n, err := strconv.Atoi(stat(pid, parentField))
	if err != nil {
		return 0
	}
	return n
}

func zombie(pid int) bool { return stat(pid, stateField) == "Z" }

// stat returns a field of the process's status. The name in the status may contain anything, and
// fields are therefore counted from its last parenthesis.
func stat(pid, field int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= field {
		return ""
	}
	return fields[field]
}
