package box

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// groups makes control groups. A member is the directory in which they are made.
type groups struct {
	unified      string // version 2; empty with version 1
	memory, pids string // version 1
	ownMemory    string // our own groups of version 1
	ownPids      string
}

// errNoGroups says that this user cannot make control groups here.
var errNoGroups = errors.New("cannot make a control group for memory and processes: start the worker as a service of your user (systemd-run --user), or as root")

// findGroups finds a place for control groups: version 2 first.
func findGroups() (*groups, error) {
	own, err := readOwnGroups()
	if err != nil {
		return nil, err
	}
	if dir := own[""]; dir.path != "" {
		if parent := findUnified(dir); parent != "" {
			sweepGroups(parent)
			return &groups{unified: parent}, nil
		}
	}
	g := &groups{memory: own["memory"].path, pids: own["pids"].path}
	g.ownMemory, g.ownPids = g.memory, g.pids
	if g.memory == "" || g.pids == "" || unix.Access(g.memory, unix.W_OK) != nil || unix.Access(g.pids, unix.W_OK) != nil {
		return nil, errNoGroups
	}
	sweepGroups(g.memory)
	sweepGroups(g.pids)
	return g, nil
}

// findUnified returns the nearest directory in which a group with both controllers can be made and
// entered from our own, or "".
func findUnified(own ownGroup) string {
	for dir := own.path; isUnder(dir, own.mount); dir = filepath.Dir(dir) {
		trial := filepath.Join(dir, groupName())
		if unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil || os.Mkdir(trial, 0o755) != nil {
			continue
		}
		_, memoryErr := os.Stat(filepath.Join(trial, "memory.max"))
		_, pidsErr := os.Stat(filepath.Join(trial, "pids.max"))
		os.Remove(trial)
		if memoryErr == nil && pidsErr == nil {
			return dir
		}
	}
	return ""
}

// ownGroup is our own control group, and where its hierarchy is mounted.
type ownGroup struct{ path, mount string }

// readOwnGroups returns our groups by controller. The one of version 2 has no controller.
func readOwnGroups() (map[string]ownGroup, error) {
	listed, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own := map[string]ownGroup{}
	for line := range strings.Lines(string(listed)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			if at, ok := findHierarchy(string(mounts), controller, parts[2]); ok {
				own[controller] = at
			}
		}
	}
	return own, nil
}

// findHierarchy returns the directory of a group by the mounts of /proc/self/mountinfo.
func findHierarchy(mountinfo, controller, group string) (ownGroup, bool) {
	for line := range strings.Lines(mountinfo) {
		front, back, ok := strings.Cut(strings.TrimSpace(line), " - ")
		at, of := strings.Fields(front), strings.Fields(back)
		if !ok || len(at) < 5 || len(of) < 3 {
			continue
		}
		unified := controller == "" && of[0] == "cgroup2"
		named := controller != "" && of[0] == "cgroup" && strings.Contains(","+of[2]+",", ","+controller+",")
		if root := at[3]; (unified || named) && isUnder(group, root) {
			return ownGroup{filepath.Join(at[4], strings.TrimPrefix(group, root)), at[4]}, true
		}
	}
	return ownGroup{}, false
}

var groupForm = regexp.MustCompile(`^ratchet-([0-9]+)-[A-Z0-9]+$`)

func groupName() string { return fmt.Sprintf("ratchet-%d-%s", os.Getpid(), rand.Text()[:10]) }

// sweepGroups removes the groups that processes left which are gone. A group with a process in it
// stays.
func sweepGroups(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, entry := range entries {
		if of := groupForm.FindStringSubmatch(entry.Name()); of != nil {
			pid, err := strconv.Atoi(of[1])
			if err == nil && unix.Kill(pid, 0) == unix.ESRCH {
				os.Remove(filepath.Join(parent, entry.Name()))
			}
		}
	}
}

// group is the control group of one program, in one directory or in two.
type group struct {
	dirs   []string
	limits limits
	proc.Limits
}

// make makes a group with limits. Its files are open.
func (g *groups) make(l limits) (*group, error) {
	made := &group{limits: l}
	made.FileSize = l.disk
	if err := g.makeGroup(made, l); err != nil {
		made.close()
		return nil, err
	}
	return made, nil
}

// makeGroup makes the directories of a group and opens its files.
func (g *groups) makeGroup(made *group, l limits) error {
	name := groupName()
	memory, processes := strconv.FormatInt(l.memory, 10), strconv.FormatInt(l.processes, 10)
	if g.unified != "" {
		dir := filepath.Join(g.unified, name)
		err := made.add(dir, "memory.max", memory, "?memory.swap.max", "0", "memory.oom.group", "1", "pids.max", processes)
		if err == nil {
			made.Group, err = os.Open(dir)
		}
		return err
	}
	err := made.add(filepath.Join(g.memory, name), "memory.limit_in_bytes", memory, "?memory.memsw.limit_in_bytes", memory)
	if err == nil {
		err = made.add(filepath.Join(g.pids, name), "pids.max", processes)
	}
	if err == nil {
		err = made.openTasks(g.ownMemory, g.ownPids)
	}
	return err
}

// add makes a directory and writes files in it: names and contents in turn. A name that begins with
// a question mark need not exist.
func (g *group) add(dir string, files ...string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	g.dirs = append(g.dirs, dir)
	for ; len(files) > 0; files = files[2:] {
		name, optional := strings.CutPrefix(files[0], "?")
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(files[1])
			f.Close()
		}
		if err != nil && !optional {
			return err
		}
	}
	return nil
}

// openTasks opens the files by which a thread enters the groups, and leaves them for our own.
func (g *group) openTasks(own ...string) error {
	for i, dir := range g.dirs {
		in, err := os.OpenFile(filepath.Join(dir, "tasks"), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		back, err := os.OpenFile(filepath.Join(own[i], "tasks"), os.O_WRONLY, 0)
		if err != nil {
			in.Close()
			return err
		}
		g.Tasks = append(g.Tasks, [2]*os.File{in, back})
	}
	return nil
}

// cause returns the limit that was reached, or "".
func (g *group) cause() string {
	if g.hasCounted("memory.events", "oom_kill") || g.hasCounted("memory.events", "oom_group_kill") || g.hasCounted("memory.oom_control", "oom_kill") {
		return g.limits.memoryCause()
	}
	if g.hasCounted("pids.events", "max") {
		return g.limits.processCause()
	}
	return ""
}

// hasCounted reports whether a file of the group counts an event.
func (g *group) hasCounted(file, event string) bool {
	for _, dir := range g.dirs {
		text, _ := os.ReadFile(filepath.Join(dir, file)) // only one of the directories has it
		for line := range strings.Lines(string(text)) {
			name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name == event && count != "0" {
				return true
			}
		}
	}
	return false
}

// close ends every process left in the group and removes it.
func (g *group) close() {
	if g.Group != nil {
		g.Group.Close()
	}
	for _, pair := range g.Tasks {
		pair[0].Close()
		pair[1].Close()
	}
	for _, dir := range g.dirs {
		if kill, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
			kill.WriteString("1")
			kill.Close()
		}
		for over := time.Now().Add(removeLimit); !removeGroup(dir) && time.Now().Before(over); {
			time.Sleep(time.Millisecond)
		}
	}
}

// removeGroup removes the directory of a group, and reports whether it is gone.
func removeGroup(dir string) bool {
	err := os.Remove(dir)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// removeLimit is the time that a group has to become empty. One that stays is removed by sweepGroups.
const removeLimit = 2 * time.Second
