package supervisor

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	sysPidfdSendSignal = 424 // the same numbers on every architecture
	sysPidfdOpen       = 434

	bubblewrap = "bwrap" // the name of its processes
)

// listing is a process as /proc lists it.
type listing struct {
	pid, parent int
	name, began string // began is the time since the machine's start, in clock ticks
}

// readListing reads a process that /proc names.
func readListing(name string) (p listing, ok bool) {
	pid, err := strconv.Atoi(name)
	if err != nil {
		return p, false
	}
	stat, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return p, false
	}
	text := string(stat)
	parent, _, ok := parseStat(text)
	first, last := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[last+1:])
	if !ok || first < 0 || len(fields) < 20 {
		return p, false
	}
	return listing{pid, parent, text[first+1 : last], fields[19]}, true
}

// boxedProcesses returns the processes in the box of the program, if the program is a bubblewrap. That one dies of any
// signal, and kills at once all that it holds. Those of bubblewrap itself are left out, also inside.
func (t *tree) boxedProcesses() (inside []listing) {
	top, ok := readListing(strconv.Itoa(t.program))
	if !ok || t.ended || top.name != bubblewrap {
		return nil
	}
	below := map[int][]listing{}
	names, _ := list("/proc")
	for _, name := range names {
		if p, ok := readListing(name); ok {
			below[p.parent] = append(below[p.parent], p)
		}
	}
	for next := below[t.program]; len(next) > 0; next = next[1:] {
		if next[0].name != bubblewrap {
			inside = append(inside, next[0])
		}
		next = append(next, below[next[0].pid]...)
	}
	return inside
}

// send signals the process, which is no child of ours. It is held by a descriptor while it is looked at again, so that no
// stranger with the same id is signalled.
func (p listing) send(signals ...syscall.Signal) bool {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(p.pid), 0, 0)
	if errno != 0 {
		return false
	}
	defer syscall.Close(int(fd))
	now, ok := readListing(strconv.Itoa(p.pid))
	if !ok || now.began != p.began || now.name != p.name {
		return false
	}
	for _, sig := range signals {
		if _, _, errno := syscall.RawSyscall6(sysPidfdSendSignal, fd, uintptr(sig), 0, 0, 0, 0); errno != 0 {
			return false
		}
	}
	return true
}
