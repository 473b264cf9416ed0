package box

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/box/inner"
)

// host is what the arguments take from the machine.
type host struct {
	links map[string]string // top-level names that are links, such as bin, and where they lead
	dirs  []string          // top-level directories of the system besides /usr
	// etc and copies are the paths of /etc that programs need; none holds a secret. The directories and large files
	// of etc are mounted, the small files of copies are copied: bwrap reads the list of all mounts after each mount.
	etc, copies []string
	masks       []string // files of /proc that describe the machine
}

// inside is one program in the box, and all that its arguments depend on.
type inside struct {
	mounts []mount
	egress *Egress
	bridge string // of the spec
	own    string // the path of our executable
	names  []string
	disk   int64
	fence  int // the descriptor of fenceText
	copies []copied
	dir    string
	env    []string
	argv   []string
}

// copied is a file that bwrap copies from a descriptor.
type copied struct {
	to string
	fd int
}

// The namespaces and the identity of a box. Without --disable-userns a program could get
// capabilities in a user namespace of its own.
var isolation = []string{
	"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
	"--disable-userns", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
	"--die-with-parent", "--new-session", "--hostname", inner.BoxName,
}

// args returns the options of bwrap. They travel by a descriptor: an argument line can be read from
// inside.
func args(h host, in inside) []string {
	a := slices.Clone(isolation)
	a = append(a, h.args()...)
	for _, c := range in.copies {
		a = append(a, "--perms", "0444", "--file", strconv.Itoa(c.fd), c.to)
	}
	size := strconv.FormatInt(in.disk, 10)
	a = append(a, "--dev", "/dev", "--size", size, "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--size", size, "--perms", "1777", "--tmpfs", "/tmp", "--symlink", "../tmp", "/var/tmp", "--dir", "/run")
	for _, m := range in.mounts {
		a = append(a, m.args(in.fence, size)...)
	}
	for _, name := range in.names {
		a = append(a, "--ro-bind", in.own, OwnDirectory+name)
	}
	if in.egress != nil {
		a = append(a, "--bind", in.egress.Socket, EgressSocket)
	}
	if in.bridge != "" {
		a = append(a, "--bind", in.bridge, bridgeSocket)
	}
	a = append(a, "--remount-ro", "/", "--clearenv")
	for _, entry := range in.env {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			a = append(a, "--setenv", name, value)
		}
	}
	return append(a, "--chdir", in.dir)
}

// command returns the program that bwrap starts, with its arguments.
func (in inside) command() []string {
	if in.egress == nil {
		return in.argv
	}
	forwarder := append([]string{OwnDirectory + in.egress.Forwarder}, in.egress.Args...)
	return append(append(forwarder, "--"), in.argv...)
}

// args returns the options for the system's directories and for /proc. User 65534 inside is our user
// outside, and the kernel lets the owner of a file of /proc write it whatever his capabilities: all of /proc
// is read-only, the files of the box's own processes too.
func (h host) args() []string {
	a := []string{"--ro-bind", "/usr", "/usr"}
	for _, name := range slices.Sorted(maps.Keys(h.links)) {
		a = append(a, "--symlink", h.links[name], "/"+name)
	}
	for _, path := range slices.Concat(h.dirs, h.etc) {
		a = append(a, "--ro-bind", path, path)
	}
	a = append(a, "--proc", "/proc")
	for _, path := range h.masks {
		a = append(a, "--ro-bind", "/dev/null", path)
	}
	return append(a, "--remount-ro", "/proc")
}

// args returns the options of a mount. Size bounds what a private one holds.
func (m mount) args(fenceFD int, size string) []string {
	switch m.kind {
	case fence:
		return []string{string(fence), strconv.Itoa(fenceFD), m.to}
	case cover:
		return []string{string(readOnly), os.DevNull, m.to}
	case lent:
		return []string{string(writable), m.from, m.to}
	case private:
		return []string{"--size", size, "--perms", "0700", string(private), m.to}
	}
	return []string{string(m.kind), m.from, m.to}
}
