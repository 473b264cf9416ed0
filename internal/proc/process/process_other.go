//go:build !linux

package process

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

func startKey(pid int) string {
	started := ps(pid, "lstart=")
	if started == "" {
		return ""
	}
	return "ps:" + started
}

func parent(pid int) int { return number(ps(pid, "ppid=")) }

func zombie(pid int) bool { return strings.HasPrefix(ps(pid, "stat="), "Z") }

func ps(pid int, column string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", column, "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
