//go:build !linux

package engine

// checkListener returns nil: the kernel does not tell who listens.
func checkListener(string) error { return nil }
