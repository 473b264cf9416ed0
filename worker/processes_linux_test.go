package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processes are those that belong to the fixture's runs, or to the one whose id
// is given: they work in its directories or carry its name. The engine and
// the workers themselves do not count.
func (s *fixture) processes(id string) []string {
	own := append([]int{os.Getpid(), s.engine.PID}, s.pids()...)
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || slices.Contains(own, pid) {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		text := strings.Join([]string{cwd, string(argv), string(env)}, "\x00")
		if len(argv) > 0 && strings.Contains(text, s.dir) && strings.Contains(text, id) {
			found = append(found, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(argv), "\x00", " ")))
		}
	}
	return found
}
