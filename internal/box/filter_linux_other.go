//go:build linux && !amd64 && !arm64

package box

// No architecture has this number: Open refuses to make a box without a filter.
const (
	nativeArch = 0
	hasX32     = false
)

var deniedHere []uint32

// modesHere are system calls that set a mode, and that this architecture alone has.
var modesHere []modeCall
