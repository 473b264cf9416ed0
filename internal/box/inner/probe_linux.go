package inner

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == "/run/ratchet/"+ProbeName {
		syscall.Exit(tryAttacks(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == OverlayWord {
		syscall.Exit(mountOverlays(os.Args[2:]))
	}
}

// tryAttacks tries all attacks, and writes the names of those that succeed. It fails where no shell runs.
func tryAttacks(args []string) int {
	w, ok := ReadWorld(args)
	if !ok {
		return 2
	}
	for _, a := range attacks {
		if a.try(w) == nil {
			os.Stdout.WriteString(a.name + "\n")
		}
	}
	if err := run(0, "/bin/sh", "-c", ":"); err != nil {
		os.Stderr.WriteString("/bin/sh: " + err.Error() + "\n")
		return 1
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

// attacks are one for each thing that a box keeps from its programs. They show that this machine's kernel and bubblewrap
// do what they are told; that the box tells them everything is shown by the tests, which try many more. None harms the
// machine where it succeeds.
var attacks = []attack{
	{"read a file of the user", func(w World) error { return open(w.File, syscall.O_RDONLY) }},
	{"write a file of the user", func(w World) error { return open(w.File, syscall.O_WRONLY) }},
	{"write the work tree's .git", func(w World) error { return open(w.Tree+"/.git/config", syscall.O_WRONLY) }},
	{"write /proc/sys/kernel/core_pattern", func(World) error { return open("/proc/sys/kernel/core_pattern", syscall.O_WRONLY) }},
	{"connect to the host by TCP", func(w World) error { return dial(syscall.AF_INET, loopbackAddress(w.TCP)) }},
	{"connect to a socket of the user", func(w World) error { return dial(syscall.AF_UNIX, &syscall.SockaddrUnix{Name: w.Socket}) }},
	{"see the worker", func(w World) error { return seesProcess(w.Worker) }},
	{"trace", func(World) error { return canTrace() }},
	{"make a user namespace", func(World) error { return run(syscall.CLONE_NEWUSER, "/bin/sh", "-c", ":") }},
	{"mount", bindOntoItself},
	{"make a program that runs as its owner", makesSetuid},
	{"have more variables than allowed", hasMoreVariables},
}

// open opens a file for an access.
func open(path string, access int) error {
	fd, err := syscall.Open(path, access|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

// run runs a program in namespaces of its own, by flags of clone. It fails where the program does.
func run(namespaces uintptr, argv ...string) error {
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: namespaces}})
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status != 0 {
		return errDenied
	}
	return nil
}

// canTrace succeeds if the kernel accepts a ptrace call and looks for the process to trace.
func canTrace() error {
	const seize = 0x4206
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, seize, ^uintptr(0), 0, 0, 0, 0)
	if errno == syscall.EPERM || errno == syscall.EACCES || errno == syscall.ENOSYS {
		return errno
	}
	return nil
}

// dial connects.
func dial(family int, to syscall.Sockaddr) error {
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Connect(fd, to)
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

func hasMoreVariables(w World) error {
	allowed := strings.Split(w.Allowed+",PWD", ",")
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(allowed, name) {
			return nil
		}
	}
	return errDenied
}

// bindOntoItself binds a directory over itself.
func bindOntoItself(w World) error {
	if err := syscall.Mount(w.Tree, w.Tree, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return syscall.Unmount(w.Tree, syscall.MNT_DETACH)
}

// loopbackAddress is the address of a port of 127.0.0.1.
func loopbackAddress(port string) syscall.Sockaddr {
	n, _ := strconv.Atoi(port)
	return &syscall.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
