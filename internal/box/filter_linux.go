package box

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data on little-endian machines.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArg    = 16 // of the first argument; each has 8 bytes, the low half first
)

// x32Bit marks a system call of the x32 ABI, which has numbers of its own for the same calls.
const x32Bit = 0x4000_0000

// deniedEverywhere are system calls by which a program could reach the kernel, other processes or
// mounts. Most need capabilities that a box does not have; the filter is the second belt.
var deniedEverywhere = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

// families are the kinds of sockets that a box has. All others lead into the kernel or out of the
// network namespace: vsock to a hypervisor, packet sockets to the kernel, alg to its cryptography. Of netlink a box has
// the protocol of routes alone: by it programs list the interfaces of the box's own network namespace, which it cannot
// change without a capability.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// modeCall is a system call that sets the mode of a file by an argument.
type modeCall struct {
	number uint32
	mode   int // which argument
	flags  int // the argument with the flags of open, or -1: without some of them there is no mode
}

// modesEverywhere are the calls of all architectures. Files made in a box belong to our user outside: a
// set-user-ID file would let every user of the host act as our user.
var modesEverywhere = []modeCall{
	{unix.SYS_FCHMOD, 1, -1}, {unix.SYS_FCHMODAT, 2, -1}, {unix.SYS_FCHMODAT2, 2, -1}, {unix.SYS_MKNODAT, 2, -1}, {unix.SYS_OPENAT, 3, 2},
}

const (
	userAndGroupBits = unix.S_ISUID | unix.S_ISGID
	makesFile        = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// setsMode refuses a call whose mode has the bits, and ends.
func (p *program) setsMode(c modeCall) {
	p.test(unix.BPF_JEQ, c.number, func(b *program) {
		refuseBits := func(b *program) {
			b.loadArg(c.mode)
			b.test(unix.BPF_JSET, userAndGroupBits, func(b *program) { b.ret(refuse(unix.EPERM)) })
		}
		if c.flags >= 0 {
			b.loadArg(c.flags)
			b.test(unix.BPF_JSET, makesFile, refuseBits)
		} else {
			refuseBits(b)
		}
		b.ret(allow)
	})
}

// What the filter returns.
const (
	allow = unix.SECCOMP_RET_ALLOW
	kill  = unix.SECCOMP_RET_KILL_PROCESS
)

// refuse returns the errno to the program.
func refuse(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// program is a filter of the kernel's packet filter machine.
type program []unix.SockFilter

func (p *program) op(code uint16, k uint32) { *p = append(*p, unix.SockFilter{Code: code, K: k}) }

func (p *program) load(offset uint32) { p.op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }
func (p *program) loadArg(n int)      { p.load(offsetArg + 8*uint32(n)) }
func (p *program) ret(action uint32)  { p.op(unix.BPF_RET|unix.BPF_K, action) }

// test adds a block that is skipped unless the loaded word compares with k. A conditional jump reaches
// over 255 instructions; the unconditional one reaches over any block.
func (p *program) test(compare uint16, k uint32, block func(*program)) {
	var body program
	block(&body)
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: k, Jt: 1})
	p.op(unix.BPF_JMP|unix.BPF_JA, uint32(len(body)))
	*p = append(*p, body...)
}

// is adds a test for equality that ends with an action.
func (p *program) is(k, action uint32) {
	p.test(unix.BPF_JEQ, k, func(b *program) { b.ret(action) })
}

// systemCallFilter returns the system call filter of this machine's architecture, as bwrap reads it. Where a
// call is refused by its arguments only the low half of an argument counts, as for the kernel.
func systemCallFilter() []byte {
	var p program
	p.load(offsetArch)
	p.test(unix.BPF_JEQ, nativeArch, func(native *program) { native.calls() })
	p.ret(kill) // a program of another architecture numbers its calls in another way
	var raw []byte
	for _, i := range p {
		raw = binary.NativeEndian.AppendUint16(raw, i.Code)
		raw = append(raw, i.Jt, i.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, i.K)
	}
	return raw
}

// calls decides by the number of the call.
func (p *program) calls() {
	p.load(offsetNumber)
	if hasX32 {
		p.test(unix.BPF_JGE, x32Bit, func(b *program) { b.ret(refuse(unix.ENOSYS)) })
	}
	// The flags and the mode of these are out of reach. Libraries fall back to clone and openat.
	p.is(unix.SYS_CLONE3, refuse(unix.ENOSYS))
	p.is(unix.SYS_OPENAT2, refuse(unix.ENOSYS))
	p.test(unix.BPF_JEQ, unix.SYS_CLONE, func(b *program) {
		b.loadArg(0)
		b.test(unix.BPF_JSET, newNamespaces, func(b *program) { b.ret(refuse(unix.EPERM)) })
		b.ret(allow)
	})
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		p.test(unix.BPF_JEQ, call, func(b *program) {
			b.loadArg(0)
			for _, family := range families {
				b.is(family, allow)
			}
			b.test(unix.BPF_JEQ, unix.AF_NETLINK, func(b *program) {
				b.loadArg(2)
				b.is(unix.NETLINK_ROUTE, allow)
				b.ret(refuse(unix.EAFNOSUPPORT))
			})
			b.ret(refuse(unix.EAFNOSUPPORT))
		})
	}
	p.test(unix.BPF_JEQ, unix.SYS_IOCTL, func(b *program) {
		b.loadArg(1)
		b.is(unix.TIOCSTI, refuse(unix.EPERM)) // types into a terminal
		b.is(unix.TIOCLINUX, refuse(unix.EPERM))
		b.ret(allow)
	})
	for _, call := range append(modesEverywhere, modesHere...) {
		p.setsMode(call)
	}
	for _, call := range append(deniedEverywhere, deniedHere...) {
		p.is(call, refuse(unix.EPERM))
	}
	p.ret(allow)
}
