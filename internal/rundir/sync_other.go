//go:build !linux

package rundir

import "os"

// syncBytes puts the bytes of a file on disk.
func syncBytes(f *os.File) error { return f.Sync() }
