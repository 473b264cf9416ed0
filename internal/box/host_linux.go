package box

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// programEtc are the files and directories of /etc that programs need. None holds a secret:
// /etc/ssl/private, for one, is not among them. Patterns have the form of filepath.Match.
var programEtc = []string{
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "passwd", "group", "nsswitch.conf", "hosts", "host.conf", "localtime",
	"protocols", "services", "mime.types", "os-release", "debian_version", "fonts", "perl", "python3*", "java-*", "maven/m2.conf", "maven/logging",
	"ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "pki/tls/certs", "pki/ca-trust/extracted", "crypto-policies",
}

// telling are files of /proc that describe the kernel and the machine.
var telling = []string{
	"kcore", "kmsg", "keys", "key-users", "timer_list", "sched_debug", "kallsyms", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo",
	"slabinfo", "pagetypeinfo",
}

// copyLimit bounds the size of the files that [host.copies] has, in bytes. Above it a mount costs less than a copy.
const copyLimit = 128 << 10

// readHost returns what the arguments take from this machine.
func readHost() host {
	h := host{links: map[string]string{}, masks: findMasks()}
	for _, name := range systemDirs {
		info, err := os.Lstat("/" + name)
		switch {
		case err != nil:
		case info.IsDir():
			h.dirs = append(h.dirs, "/"+name)
		case info.Mode()&os.ModeSymlink != 0:
			if to, err := os.Readlink("/" + name); err == nil {
				h.links[name] = to
			}
		}
	}
	for _, pattern := range programEtc {
		found, _ := filepath.Glob("/etc/" + pattern) // the patterns are good
		for _, path := range found {
			if isSmallFile(path) {
				h.copies = append(h.copies, path)
			} else {
				h.etc = append(h.etc, path)
			}
		}
	}
	return h
}

// isSmallFile reports whether a path leads to a file of at most copyLimit bytes that our user can read.
func isSmallFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() <= copyLimit && unix.Access(path, unix.R_OK) == nil
}

// findMasks returns the telling files of /proc that this machine has.
func findMasks() (masks []string) {
	for _, name := range telling {
		if _, err := os.Lstat("/proc/" + name); err == nil {
			masks = append(masks, "/proc/"+name)
		}
	}
	return masks
}
