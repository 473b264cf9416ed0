package box

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// programEtc are the files and directories of /etc that programs need. None holds a secret:
// /etc/ssl/private, for one, is not among them. Patterns have the form of filepath.Match.
var programEtc = []string{
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "passwd", "group", "nsswitch.conf", "hosts", "host.conf", "localtime",
	"protocols", "services", "mime.types", "os-release", "debian_version", "fonts", "perl", "python3*", "java-*", "maven/m2.conf", "maven/logging",
	"ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "pki/tls/certs", "pki/ca-trust/extracted", "crypto-policies",
}

// telling are files of /proc that tell about the kernel and the machine.
var telling = []string{
	"kcore", "kmsg", "keys", "key-users", "timer_list", "sched_debug", "kallsyms", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo",
	"slabinfo", "pagetypeinfo",
}

// copyLimit bounds the size of the files that [host.copies] has, in bytes. Above it a mount costs less than a copy.
const copyLimit = 128 << 10

// readHost returns what the arguments take from this machine.
func readHost() (host, error) {
	h := host{links: map[string]string{}}
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
	return h, h.readProc()
}

// isSmallFile reports whether a path leads to a file of at most copyLimit bytes that our user can read.
func isSmallFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() <= copyLimit && unix.Access(path, unix.R_OK) == nil
}

// readProc finds the names of /proc that are to be covered: every directory that is no process,
// every file that any program may write, and the telling ones.
func (h *host) readProc() error {
	for _, name := range telling {
		if _, err := os.Lstat("/proc/" + name); err == nil {
			h.masks = append(h.masks, "/proc/"+name)
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.Trim(name, "0123456789") == "" || entry.Type()&os.ModeSymlink != 0 {
			continue
		}
		info, err := entry.Info()
		if err == nil && (info.IsDir() || info.Mode()&0o222 != 0) {
			h.locks = append(h.locks, "/proc/"+name)
		}
	}
	return nil
}
