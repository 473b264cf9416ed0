package box

import "testing"

// The texts are those that bwrap prints on such machines.
func TestCauseOf(t *testing.T) {
	const (
		apparmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
		clone    = "/proc/sys/kernel/unprivileged_userns_clone"
		most     = "/proc/sys/user/max_user_namespaces"
		status   = "/proc/self/status"
	)
	filtered := "Name:\tworker\nSeccomp:\t2\n"
	for name, test := range map[string]struct {
		said     string
		settings map[string]string
		want     Cause
	}{
		"Ubuntu's restriction, at the network":    {"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", map[string]string{apparmor: "1"}, AppArmor},
		"Ubuntu's restriction, at the user":       {"bwrap: setting up uid map: Permission denied", map[string]string{apparmor: "1"}, AppArmor},
		"Debian's old setting":                    {"bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user namespaces.", map[string]string{clone: "0"}, Sysctl},
		"no user namespaces":                      {"bwrap: Creating new namespace failed", map[string]string{most: "0"}, Sysctl},
		"a container's filter":                    {"bwrap: Creating new namespace failed: Operation not permitted", map[string]string{status: filtered}, Seccomp},
		"a container's AppArmor and filter":       {"bwrap: Failed to make / slave: Permission denied", map[string]string{status: filtered}, Seccomp},
		"a masked /proc":                          {"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", map[string]string{status: filtered}, MaskedProc},
		"in a box":                                {"bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)", nil, Nested},
		"a filter that has nothing to do with it": {"bwrap: execvp /x: No such file or directory", map[string]string{status: filtered}, NotStarting},
		"nothing known":                           {"", nil, NotStarting},
	} {
		if got := causeOf(test.said, func(path string) string { return test.settings[path] }); got != test.want {
			t.Errorf("%s: %s; want %s", name, got, test.want)
		}
	}
}
