package inner

// System calls that package syscall does not name.
const (
	sysIOUringSetup  = 425
	sysBPF           = 280
	sysPerfEventOpen = 241
)
