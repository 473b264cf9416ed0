package box_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var errNo = errors.New("denied")

// yes turns a condition into the outcome of a probe.
func yes(is bool) error {
	if is {
		return nil
	}
	return errNo
}

// looked takes an error other than a refusal as a success: the kernel looked at the arguments.
func looked(err error) error {
	for _, refusal := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EAFNOSUPPORT} {
		if errors.Is(err, refusal) {
			return err
		}
	}
	return nil
}

// sys makes a system call with arguments that change nothing where it is allowed.
func sys(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return errnoOrNil(errno)
}

func call(name string, number uintptr, args ...uintptr) probe {
	return probe{name, func(battery) error { return looked(sys(number, args...)) }}
}

func opens(name, path string, access int) probe {
	return probe{name, func(battery) error {
		fd, err := syscall.Open(path, access|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if err == nil {
			syscall.Close(fd)
		}
		return err
	}}
}

func sockets(name string, family, kind, protocol int) probe {
	return probe{name, func(battery) error {
		fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC, protocol)
		if err == nil {
			syscall.Close(fd)
		}
		return err
	}}
}

// unshares tries a new namespace for a child.
func unshares(name string, flag uintptr) probe {
	return probe{name, func(battery) error {
		pid, err := syscall.ForkExec("/usr/bin/true", []string{"true"}, &syscall.ProcAttr{Env: []string{}, Sys: &syscall.SysProcAttr{Cloneflags: flag}})
		if err == nil {
			syscall.Wait4(pid, nil, 0, nil)
		}
		return err
	}}
}

// ofWorker opens a file of the worker's process.
func ofWorker(name, file string, access int) probe {
	return probe{name, func(b battery) error {
		fd, err := syscall.Open(filepath.Join("/proc", strconv.Itoa(b.Worker), file), access|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if err == nil {
			syscall.Close(fd)
		}
		return err
	}}
}

const none = ^uintptr(0) // no process, descriptor, command or flag

var probes = []probe{
	// Processes of the host.
	{"see the worker", func(b battery) error { return sysStat("/proc/" + strconv.Itoa(b.Worker)) }},
	{"signal the worker", func(b battery) error { return syscall.Kill(b.Worker, 0) }},
	{"wake the worker", func(b battery) error { return syscall.Kill(b.Worker, syscall.SIGCONT) }},
	{"trace the worker", func(b battery) error { return sys(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(b.Worker)) }},
	{"read the worker's memory", readsMemory},
	ofWorker("open the worker's memory", "mem", os.O_RDWR),
	ofWorker("open the worker's environment", "environ", os.O_RDONLY),
	ofWorker("open the worker's maps", "maps", os.O_RDONLY),
	ofWorker("list the worker's descriptors", "fd", os.O_RDONLY),
	ofWorker("enter the worker's root", "root/etc", os.O_RDONLY),
	ofWorker("enter the worker's directory", "cwd/.", os.O_RDONLY),
	ofWorker("make the worker a victim of memory", "oom_score_adj", os.O_WRONLY),
	ofWorker("open the worker's network namespace", "ns/net", os.O_RDONLY),
	{"get a handle of the worker", func(b battery) error { return sys(unix.SYS_PIDFD_OPEN, uintptr(b.Worker)) }},
	{"set the worker's priority", func(b battery) error { return syscall.Setpriority(syscall.PRIO_PROCESS, b.Worker, 5) }},
	{"set the worker's limits", func(b battery) error { return unix.Prlimit(b.Worker, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) }},
	{"see more processes than its own", seesMany},
	{"attach shared memory of the host", func(b battery) error { return sys(unix.SYS_SHMAT, uintptr(b.Memory), 0, unix.SHM_RDONLY) }},
	{"know the host's name", func(b battery) error { name, _ := os.Hostname(); return yes(name == b.Host) }},
	// What it has of its own.
	{"have the canary in its environment", func(b battery) error { return yes(strings.Contains(strings.Join(os.Environ(), "\n"), b.Canary)) }},
	{"have more variables than allowed", hasMore},
	{"have the canary in a parent's environment", parentsCanary},
	{"have descriptors of the worker", inherits},
	{"be the superuser", func(battery) error { return yes(os.Geteuid() == 0) }},
	{"have effective capabilities", func(battery) error { return yes(statusLine("CapEff") != "0000000000000000") }},
	{"have capabilities to gain", func(battery) error { return yes(statusLine("CapBnd") != "0000000000000000") }},
	{"gain privileges by exec", func(battery) error { return yes(statusLine("NoNewPrivs") != "1") }},
	{"make calls that no filter sees", func(battery) error { return yes(statusLine("Seccomp") != "2") }},
	// The file systems of the kernel.
	{"write core_pattern", writesCorePattern},
	opens("open kernel.hostname for writing", "/proc/sys/kernel/hostname", os.O_WRONLY),
	opens("open kernel.modprobe for writing", "/proc/sys/kernel/modprobe", os.O_WRONLY),
	opens("open vm.overcommit_memory for writing", "/proc/sys/vm/overcommit_memory", os.O_WRONLY),
	opens("open fs.file-max for writing", "/proc/sys/fs/file-max", os.O_WRONLY),
	opens("open sysrq-trigger", "/proc/sysrq-trigger", os.O_WRONLY),
	opens("open mtrr", "/proc/mtrr", os.O_RDWR),
	opens("open irq affinity", "/proc/irq/default_smp_affinity", os.O_WRONLY),
	opens("open kcore", "/proc/kcore", os.O_RDONLY),
	opens("open kmsg of /proc", "/proc/kmsg", os.O_RDONLY),
	opens("open kpagecount", "/proc/kpagecount", os.O_RDONLY),
	opens("open timer_list", "/proc/timer_list", os.O_RDONLY),
	opens("open vmallocinfo", "/proc/vmallocinfo", os.O_RDONLY),
	opens("open slabinfo", "/proc/slabinfo", os.O_RDONLY),
	opens("open the list of keys", "/proc/keys", os.O_RDONLY),
	opens("open /dev/mem", "/dev/mem", os.O_RDONLY),
	opens("open /dev/kmsg", "/dev/kmsg", os.O_RDONLY),
	opens("open /dev/kvm", "/dev/kvm", os.O_RDWR),
	opens("open /dev/fuse", "/dev/fuse", os.O_RDWR),
	opens("open /dev/net/tun", "/dev/net/tun", os.O_RDWR),
	opens("open the disk", "/dev/vda", os.O_RDONLY),
	opens("open /sys", "/sys/kernel", os.O_RDONLY),
	opens("open control groups", "/sys/fs/cgroup", os.O_RDONLY),
	opens("read /etc/shadow", "/etc/shadow", os.O_RDONLY),
	opens("list /etc/ssl/private", "/etc/ssl/private", os.O_RDONLY),
	opens("list /var/log", "/var/log", os.O_RDONLY),
	opens("list /root", "/root", os.O_RDONLY),
	{"make a file in the root", func(battery) error { return makesFile("/ratchet-battery") }},
	{"make a file in /dev", func(battery) error { return makesFile("/dev/ratchet-battery") }},
	{"make a file in /etc", func(battery) error { return makesFile("/etc/ratchet-battery") }},
	// Files that run as their owner, for everybody on the host.
	setsBits("set the user bit by chmod", func(path string) error { return unix.Chmod(path, unix.S_ISUID|0o755) }),
	setsBits("set the group bit by chmod", func(path string) error { return unix.Chmod(path, unix.S_ISGID|0o755) }),
	setsBits("set the user bit by fchmodat", func(path string) error { return unix.Fchmodat(unix.AT_FDCWD, path, unix.S_ISUID|0o755, 0) }),
	setsBits("set the user bit by fchmodat2", func(path string) error {
		p, err := unix.BytePtrFromString(path)
		if err != nil {
			return err
		}
		at := unix.AT_FDCWD
		_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(at), uintptr(unsafe.Pointer(p)), unix.S_ISUID|0o755, 0, 0, 0)
		return errnoOrNil(errno)
	}),
	setsBits("set the user bit by open", func(path string) error {
		os.Remove(path)
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, unix.S_ISUID|0o755)
		unix.Close(fd)
		return err
	}),
	setsBits("set the user bit by openat2", func(path string) error {
		os.Remove(path)
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: unix.S_ISUID | 0o755})
		unix.Close(fd)
		return err
	}),
	setsBits("set the user bit by mknod", func(path string) error {
		os.Remove(path)
		return unix.Mknod(path, unix.S_IFREG|unix.S_ISUID|0o755, 0)
	}),
	setsBits("set the user bit by a file without a name", func(path string) error {
		os.Remove(path)
		fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR, unix.S_ISUID|0o755)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	}),
	// System calls.
	unshares("make a user namespace", syscall.CLONE_NEWUSER),
	unshares("make a mount namespace", syscall.CLONE_NEWNS),
	unshares("make a network namespace", syscall.CLONE_NEWNET),
	unshares("make a process namespace", syscall.CLONE_NEWPID),
	call("enter a namespace", unix.SYS_SETNS, none, 0),
	{"mount a file system", mountsOne},
	{"bind a directory", func(b battery) error { return unmount(b.Tree, syscall.Mount(b.Tree, b.Tree, "", syscall.MS_BIND, "")) }},
	{"make /usr writable", func(battery) error {
		return looked(syscall.Mount("", "/no-such", "", syscall.MS_REMOUNT|syscall.MS_BIND, ""))
	}},
	{"unmount", func(battery) error { return looked(syscall.Unmount("/no-such", 0)) }},
	{"change the root", func(battery) error { return looked(syscall.Chroot("/no-such")) }},
	{"pivot the root", func(battery) error { return looked(syscall.PivotRoot("/no-such", "/no-such")) }},
	{"make a device", makesDevice},
	call("open a tree of mounts", unix.SYS_OPEN_TREE, none, 0, unix.OPEN_TREE_CLONE),
	call("open a file system", unix.SYS_FSOPEN, 0, none),
	call("trace", unix.SYS_PTRACE, unix.PTRACE_SEIZE, none),
	call("read a process's memory", unix.SYS_PROCESS_VM_READV, none, 0, 0, 0, 0, 0),
	call("set up io_uring", unix.SYS_IO_URING_SETUP, 0, 0),
	call("load a bpf program", unix.SYS_BPF, none, 0, 0),
	call("open performance events", unix.SYS_PERF_EVENT_OPEN, 0, 0, none, none, 0),
	call("handle page faults", unix.SYS_USERFAULTFD, none),
	call("add a key", unix.SYS_ADD_KEY, 0, 0, 0, 0, 0),
	call("request a key", unix.SYS_REQUEST_KEY, 0, 0, 0, 0),
	call("control keys", unix.SYS_KEYCTL, none),
	call("open by handle", unix.SYS_OPEN_BY_HANDLE_AT, none, 0, 0),
	call("watch file systems", unix.SYS_FANOTIFY_INIT, none, 0),
	call("load a kernel", unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff),
	call("load a module", unix.SYS_FINIT_MODULE, none, 0, 0),
	call("reboot", unix.SYS_REBOOT, 0, 0, 0),
	call("swap", unix.SYS_SWAPON, 0, 0),
	call("read the kernel's log", unix.SYS_SYSLOG, 3, 0, 0),
	call("set the clock", unix.SYS_SETTIMEOFDAY, 0, 0),
	call("compare processes", unix.SYS_KCMP, none, none, none),
	// Sockets into the kernel, and ways to the network.
	sockets("a netlink socket of other protocols", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC),
	sockets("a socket of the kernel's events", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
	sockets("a packet socket", unix.AF_PACKET, unix.SOCK_RAW, 0),
	sockets("a raw socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
	sockets("a vsock socket", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	sockets("an alg socket", unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	sockets("a bluetooth socket", unix.AF_BLUETOOTH, unix.SOCK_RAW, 0),
	sockets("a can socket", unix.AF_CAN, unix.SOCK_RAW, 1),
	sockets("an xdp socket", unix.AF_XDP, unix.SOCK_RAW, 0),
	sockets("a tipc socket", unix.AF_TIPC, unix.SOCK_STREAM, 0),
	sockets("a kcm socket", unix.AF_KCM, unix.SOCK_DGRAM, 0),
}

// setsBits tries to make a file of the work tree run as its owner.
func setsBits(name string, set func(path string) error) probe {
	return probe{name, func(b battery) error {
		path := filepath.Join(b.Tree, "program")
		defer os.Remove(path)
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			return err
		}
		if err := set(path); err != nil {
			return err
		}
		info, err := os.Stat(path)
		return errors.Join(err, yes(err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0))
	}}
}

func errnoOrNil(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func sysStat(path string) error {
	_, err := os.Stat(path)
	return err
}

// readsMemory reads one byte of the worker, at an address that every program has mapped nothing at: the
// kernel refuses before it looks, or finds a bad address.
func readsMemory(b battery) error {
	var into byte
	local := unix.Iovec{Base: &into, Len: 1}
	remote := unix.RemoteIovec{Base: 8, Len: 1}
	_, err := unix.ProcessVMReadv(b.Worker, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
	if errors.Is(err, unix.ESRCH) {
		return err
	}
	return looked(err)
}

// seesMany succeeds when there are more processes than a small family.
func seesMany(battery) error {
	entries, _ := os.ReadDir("/proc")
	count := 0
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			count++
		}
	}
	return yes(count > 4)
}

func hasMore(b battery) error {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.Contains(","+strings.Join(b.Allowed, ",")+",PWD,", ","+name+",") {
			return nil
		}
	}
	return errNo
}

func parentsCanary(b battery) error {
	for _, pid := range []int{1, os.Getppid(), b.Worker} {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if strings.Contains(string(text), b.Canary) {
			return nil
		}
	}
	return errNo
}

// inherits succeeds for an open file that this program and its runtime did not open.
func inherits(battery) error {
	for fd := 3; fd < 1024; fd++ {
		to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && !strings.HasPrefix(to, "anon_inode:[event") && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			return nil
		}
	}
	return errNo
}

func statusLine(name string) string {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// writesCorePattern writes the value that is there.
func writesCorePattern(battery) error {
	const path = "/proc/sys/kernel/core_pattern"
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(text)
	return err
}

func makesFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		f.Close()
		os.Remove(path)
	}
	return err
}

func mountsOne(b battery) error {
	return unmount(b.Tree, syscall.Mount("none", b.Tree, "tmpfs", 0, ""))
}

func unmount(path string, err error) error {
	if err == nil {
		syscall.Unmount(path, syscall.MNT_DETACH)
	}
	return err
}

func makesDevice(b battery) error {
	path := filepath.Join(b.Tree, "device")
	err := syscall.Mknod(path, syscall.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	if err == nil {
		os.Remove(path)
	}
	return err
}
