package inner

// System calls that package syscall does not name.
const (
	sysIOUringSetup  = 425
	sysBPF           = 321
	sysPerfEventOpen = 298
)
