package inner

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == "/run/ratchet/"+ProbeName {
		syscall.Exit(probe(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == OverlayWord {
		syscall.Exit(mountOverlays(os.Args[2:]))
	}
}

// probe tries all attacks, and writes the names of those that succeed.
func probe(args []string) int {
	w, ok := ReadWorld(args)
	if !ok {
		return 2
	}
	for _, name := range Attempt(w) {
		os.Stdout.WriteString(name + "\n")
	}
	os.Stdout.WriteString(Done + "\n")
	return 0
}

// attack is one thing that a program in a box must not be able to do. try returns nil when it could.
type attack struct {
	name string
	try  func(w World) error
}

// errDenied is the error of an attack that met no error of the system, and no success.
var errDenied = errors.New("denied")

// Attempt tries all attacks and returns the names of those that succeed. None harms the machine where
// it succeeds.
func Attempt(w World) (succeeded []string) {
	runtime.LockOSThread() // what a thread gets for itself ends with it
	for _, a := range attacks {
		if a.try(w) == nil {
			succeeded = append(succeeded, a.name)
		}
	}
	return succeeded
}

var attacks = []attack{
	{"read a file of the user", func(w World) error { return open(w.Secret, syscall.O_RDONLY) }},
	{"write a file of the user", func(w World) error { return appendByte(w.Victim) }},
	{"make a file beside it", makesNeighbour},
	{"write the work tree's .git", func(w World) error { return appendByte(w.Tree + "/.git/config") }},
	{"make a program that runs as its owner", makesSetuid},
	{"read /etc/shadow", func(World) error { return open("/etc/shadow", syscall.O_RDONLY) }},
	{"make a file in /usr", func(World) error { return create("/usr/ratchet-probe") }},
	{"make a file in /", func(World) error { return create("/ratchet-probe") }},
	{"make a file in /dev", func(World) error { return create("/dev/ratchet-probe") }},
	{"read /proc/keys", func(World) error { return open("/proc/keys", syscall.O_RDONLY) }},
	{"write /proc/sys/kernel/core_pattern", func(World) error { return open("/proc/sys/kernel/core_pattern", syscall.O_WRONLY) }},
	{"write /proc/sysrq-trigger", func(World) error { return open("/proc/sysrq-trigger", syscall.O_WRONLY) }},
	{"read /proc/kcore", func(World) error { return open("/proc/kcore", syscall.O_RDONLY) }},
	{"read the kernel's log", func(World) error { return call(syscall.SYS_SYSLOG, 10, 0, 0) }},
	{"see the worker", func(w World) error { return seesProcess(w.Worker) }},
	{"signal the worker", func(w World) error { return signalProcess(w.Worker) }},
	{"attach shared memory of the host", attachesMemory},
	{"know the host's name", knowsName},
	{"read the environment of process 1", readsForeignEnvironment},
	{"have more variables than allowed", hasMoreVariables},
	{"have more descriptors than three", hasMoreDescriptors},
	{"hold a capability", holdsCapability},
	{"gain privileges by exec", gainsPrivileges},
	{"make a user namespace", makesUserNamespace},
	{"unshare a namespace", func(World) error { return call(syscall.SYS_UNSHARE, syscall.CLONE_NEWUTS, 0, 0) }},
	{"mount", mounts},
	{"change the root", func(World) error { return reached(syscall.Chroot("/no-such-directory")) }},
	{"trace", func(World) error { return reached(call(syscall.SYS_PTRACE, 0x4206, ^uintptr(0), 0)) }},
	{"io_uring", func(World) error { return reached(call(sysIOUringSetup, 0, 0, 0)) }},
	{"bpf", func(World) error { return reached(call(sysBPF, ^uintptr(0), 0, 0)) }},
	{"perf_event_open", func(World) error { return reached(call(sysPerfEventOpen, 0, 0, 0)) }},
	{"add_key", func(World) error { return reached(call(syscall.SYS_ADD_KEY, 0, 0, 0)) }},
	{"keyctl", func(World) error { return reached(call(syscall.SYS_KEYCTL, ^uintptr(0), 0, 0)) }},
	{"a vsock socket", func(World) error { return socket(40, syscall.SOCK_STREAM, 0) }},
	{"a netlink socket of other protocols", func(World) error { return socket(syscall.AF_NETLINK, syscall.SOCK_RAW, 16) }},
	{"a packet socket", func(World) error { return socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0) }},
	{"an alg socket", func(World) error { return socket(38, syscall.SOCK_SEQPACKET, 0) }},
	{"connect to the host by TCP", func(w World) error { return dial(syscall.SOCK_STREAM, 0, loopback(w.TCP)) }},
	{"connect to the host by MPTCP", func(w World) error { return dial(syscall.SOCK_STREAM, 262, loopback(w.TCP)) }},
	{"send to the host by UDP", func(w World) error { return dial(syscall.SOCK_DGRAM, 0, loopback(w.UDP)) }},
	{"a route to the network", hasRoute},
	{"connect to an abstract socket", func(w World) error { return dialUnix("@" + w.Abstract) }},
	{"connect to a socket of the user", func(w World) error { return dialUnix(w.Socket) }},
}

// open opens a file for an access and closes it.
func open(path string, access int) error {
	fd, err := syscall.Open(path, access|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

// create makes a file.
func create(path string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
	if err == nil {
		syscall.Close(fd)
		syscall.Unlink(path)
	}
	return err
}

// makesNeighbour makes a file that is looked for outside: a box has directories of its own under the
// same names. It never succeeds by itself.
func makesNeighbour(w World) error {
	if fd, err := syscall.Open(w.Victim+NeighbourSuffix, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600); err == nil {
		syscall.Close(fd)
	}
	return errDenied
}

// makesSetuid makes a file in the work tree that runs as our user, whoever starts it outside.
func makesSetuid(w World) error {
	path := w.Tree + "/program"
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_CLOEXEC, 0o700)
	if err != nil {
		return err
	}
	defer syscall.Unlink(path)
	defer syscall.Close(fd)
	return syscall.Fchmod(fd, syscall.S_ISUID|0o755)
}

// appendByte writes one byte to the end of a file, so that it can be seen outside.
func appendByte(path string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte("\n"))
	return err
}

// call makes a system call.
func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall6(number, a, b, c, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// reached takes an error other than a refusal as a success: the kernel looked at the arguments.
func reached(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSYS) {
		return err
	}
	return nil
}

// seesProcess succeeds for a process of the host that has a name of more than one of ours.
func seesProcess(pid string) error {
	names, err := readNames("/proc")
	if err != nil {
		return err
	}
	count := 0
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' {
			count++
		}
	}
	if count > 2 || pid == strconv.Itoa(os.Getppid()) {
		return nil // process 1 of the box and this one are all
	}
	return errDenied
}

func signalProcess(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 2 {
		return errDenied
	}
	return syscall.Kill(n, 0)
}

// readsForeignEnvironment succeeds when process 1, or our parent, has an environment to read that is
// not our own.
func readsForeignEnvironment(World) error {
	for _, pid := range []int{1, os.Getppid()} {
		if text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ"); err == nil && len(text) > 0 {
			return nil
		}
	}
	return errDenied
}

// attachesMemory attaches a segment for reading. What it attaches ends with the process.
func attachesMemory(w World) error {
	id, err := strconv.Atoi(w.Memory)
	if err != nil {
		return err
	}
	const readOnly = 0o10000
	return call(syscall.SYS_SHMAT, uintptr(id), 0, readOnly)
}

// knowsName compares the names of host and box. A host that is called as a box is proves nothing.
func knowsName(w World) error {
	if name, err := os.Hostname(); err != nil || name != w.Host || name == BoxName {
		return errDenied
	}
	return nil
}

func hasMoreVariables(w World) error {
	allowed := strings.Split(w.Allowed+",PWD", ",")
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !contains(allowed, name) {
			return nil
		}
	}
	return errDenied
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// hasMoreDescriptors succeeds when a descriptor above 2 is open that the Go runtime did not open: a
// file, a pipe, a socket or a directory.
func hasMoreDescriptors(World) error {
	for fd := 3; fd < 256; fd++ {
		to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && !strings.HasPrefix(to, "anon_inode:[event") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			return nil
		}
	}
	return errDenied
}

func holdsCapability(World) error {
	if status("CapEff") == "0000000000000000" && status("CapPrm") == "0000000000000000" && status("CapBnd") == "0000000000000000" {
		return errDenied
	}
	return nil
}

func gainsPrivileges(World) error {
	if status("NoNewPrivs") == "1" {
		return errDenied
	}
	return nil
}

// status returns a line of /proc/self/status.
func status(name string) string {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// makesUserNamespace starts a child in a namespace of its own.
func makesUserNamespace(World) error {
	pid, err := syscall.ForkExec("/usr/bin/true", []string{"true"}, &syscall.ProcAttr{
		Env: []string{}, Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER},
	})
	if err != nil {
		return err
	}
	syscall.Wait4(pid, nil, 0, nil)
	return nil
}

// mounts binds a directory over itself.
func mounts(w World) error {
	if err := syscall.Mount(w.Tree, w.Tree, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return syscall.Unmount(w.Tree, syscall.MNT_DETACH)
}

func socket(family, kind, protocol int) error {
	fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC, protocol)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

// loopback is the address of a port of 127.0.0.1.
func loopback(port string) syscall.Sockaddr {
	n, _ := strconv.Atoi(port)
	return &syscall.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}
}

// dial connects and, by UDP, sends a byte. A datagram to a port of the box itself is refused later, by
// an error of the next call.
func dial(kind, protocol int, to syscall.Sockaddr) error {
	family := syscall.AF_INET
	if _, ok := to.(*syscall.SockaddrUnix); ok {
		family = syscall.AF_UNIX
	}
	fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Connect(fd, to); err != nil || kind != syscall.SOCK_DGRAM {
		return err
	}
	for range 3 {
		if _, err := syscall.Write(fd, []byte("x")); err != nil {
			return err
		}
	}
	return nil
}

// hasRoute succeeds when the kernel knows a way to an address of a documentation network. It sends
// nothing.
func hasRoute(World) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Connect(fd, &syscall.SockaddrInet4{Port: 9, Addr: [4]byte{192, 0, 2, 1}})
}

func dialUnix(name string) error {
	return dial(syscall.SOCK_STREAM, 0, &syscall.SockaddrUnix{Name: name})
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
