package box

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	hasX32     = false
)

// deniedHere are system calls that this architecture alone has.
var deniedHere []uint32

// modesHere are system calls that set a mode, and that this architecture alone has.
var modesHere []modeCall
