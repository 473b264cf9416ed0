package box_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// playWeaken is a bwrap that drops belts: its arguments are the real one, the belts, and bwrap's own.
func playWeaken() {
	real, belts, argv := os.Args[2], strings.Split(os.Args[3], ","), os.Args[4:]
	raw, err := io.ReadAll(os.NewFile(3, "options"))
	if err != nil {
		panic(err)
	}
	options := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	for _, belt := range belts {
		options = weaken[belt](options)
	}
	if slices.Contains(belts, "seccomp") {
		at := slices.Index(argv, "--seccomp")
		argv = slices.Delete(argv, at, at+2)
	}
	fd, err := unix.MemfdCreate("weak", 0)
	if err != nil {
		panic(err)
	}
	f := os.NewFile(uintptr(fd), "weak")
	if _, err := io.Copy(f, bytes.NewReader([]byte(strings.Join(options, "\x00")+"\x00"))); err != nil {
		panic(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		panic(err)
	}
	if err := unix.Dup3(fd, 3, 0); err != nil {
		panic(err)
	}
	syscall.CloseOnExec(fd)
	closeStub()
	panic(syscall.Exec(real, append([]string{real}, argv...), []string{}))
}

// closeStub keeps the script that has started this program from the real bwrap: a shell leaves its script open
// above descriptor 9.
func closeStub() {
	for fd := range 256 {
		if to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && filepath.Base(to) == "bwrap" {
			syscall.CloseOnExec(fd)
		}
	}
}

var weaken = map[string]func([]string) []string{
	"seccomp": func(o []string) []string { return o },
	"userns":  drop(0, "--disable-userns"),
	"net":     drop(0, "--unshare-net"),
	"pid":     drop(0, "--unshare-pid"),
	"ipc":     drop(0, "--unshare-ipc"),
	"uts":     func(o []string) []string { return drop(1, "--hostname")(drop(0, "--unshare-uts")(o)) },
	"caps":    func(o []string) []string { return drop(1, "--uid", "--gid")(drop(1, "--cap-drop")(o)) },
	"locks":   remount("/proc"),
	"masks": func(o []string) []string {
		return dropMounts(o, func(from, to string) bool { return from == "/dev/null" && strings.HasPrefix(to, "/proc/") })
	},
	"git": func(o []string) []string {
		return dropMounts(o, func(_, to string) bool { return strings.HasSuffix(to, "/.git") })
	},
	"root": remount("/"),
	"dev":  remount("/dev"),
	"view": func(o []string) []string {
		rest := drop(2, "--symlink", "--file")(drop(1, "--dir", "--size", "--perms", "--tmpfs")(o[slices.Index(o, "--proc"):]))
		return slices.Concat(o[:slices.Index(o, "--ro-bind")], []string{"--ro-bind", "/", "/", "--tmpfs", "/run"}, rest)
	},
}

// drop removes options with their operands.
func drop(operands int, names ...string) func([]string) []string {
	return func(o []string) (kept []string) {
		for i := 0; i < len(o); i++ {
			if slices.Contains(names, o[i]) {
				i += operands
				continue
			}
			kept = append(kept, o[i])
		}
		return kept
	}
}

func dropMounts(o []string, which func(from, to string) bool) (kept []string) {
	for i := 0; i < len(o); i++ {
		if o[i] == "--ro-bind" && i+2 < len(o) && which(o[i+1], o[i+2]) {
			i += 2
			continue
		}
		kept = append(kept, o[i])
	}
	return kept
}

func remount(path string) func([]string) []string {
	return func(o []string) (kept []string) {
		for i := 0; i < len(o); i++ {
			if o[i] == "--remount-ro" && o[i+1] == path {
				i++
				continue
			}
			kept = append(kept, o[i])
		}
		return kept
	}
}
