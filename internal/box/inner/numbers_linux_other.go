//go:build linux && !amd64 && !arm64

package inner

// No architecture has these numbers.
const (
	sysIOUringSetup  = 1 << 20
	sysBPF           = 1 << 20
	sysPerfEventOpen = 1 << 20
)
