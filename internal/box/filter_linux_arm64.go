package box

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	hasX32     = false
)

// deniedHere are system calls that this architecture alone has.
var deniedHere []uint32
