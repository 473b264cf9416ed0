// Package box is the boundary around what a run executes: checks, the commands of providers, and
// agents. A program in a box sees the system's programs, its work tree and the directories that its
// [Spec] names. It has no network but an allow-list, no capability, and no process of the host. What
// judges a run is outside: its record, the engine, the user's repository and files, other runs.
//
// [Open] makes the box of this machine with bubblewrap and tests it by attacks. It refuses a box that
// lets one through. Package proc is the only way into a box.
package box

import (
	"fmt"
	"strings"
)

// Box is the tested box of this machine.
type Box struct {
	program string // bwrap
	version string // "0.8.0"
	own     string // our executable
	home    string
	runs    string // the directory of the runs, without links; empty: none
	host    host
	filter  []byte
	limits  limits
	groups  *groups // nil when there are none
	unbound string  // why there are none
	overlay bool
}

// Config configures a box. The zero value is the box of a worker.
type Config struct {
	Home string // the operator's home directory; empty means our user's
	Path string // the PATH on which bwrap is found; empty means ours
	Dir  string // the directory of the runs, in which overlays will be; empty: none, and overlays are in the one of temporary files
}

// String names the box, such as "bwrap 0.8.0".
func (b *Box) String() string { return "bwrap " + b.version }

// Limits says what bounds the programs in the box on this machine.
func (b *Box) Limits() string {
	l := b.limits
	disk := formatBytes(l.disk) + " of temporary files and of each file"
	if b.groups == nil {
		return disk + "; no limits on memory and processes: " + b.unbound
	}
	return fmt.Sprintf("%s, %s, %s", l.memoryCause(), l.processCause(), disk)
}

// Runs returns the directory of the runs without links; empty: none is known. No box shows more of it than its spec's own
// part.
func (b *Box) Runs() string { return b.runs }

// Overlays reports whether a Spec may have overlays on this machine.
func (b *Box) Overlays() bool { return b.overlay }

// Cause is why there is no box.
type Cause string

// The causes.
const (
	NoSystem    Cause = "system"      // not Linux, or not a known architecture
	NoProgram   Cause = "no-program"  // bubblewrap is not installed
	OldProgram  Cause = "old-program" // bubblewrap lacks an option
	AppArmor    Cause = "apparmor"    // AppArmor restricts user namespaces
	Sysctl      Cause = "sysctl"      // the kernel's settings forbid user namespaces
	Seccomp     Cause = "seccomp"     // a container's filter forbids namespaces or mounts
	MaskedProc  Cause = "masked-proc" // a container covers parts of /proc
	Nested      Cause = "nested"      // this process is in a box already
	Shown       Cause = "shown"       // a directory that no program may see is in one that all see
	Leaks       Cause = "leaks"       // an attack of the self-test succeeded
	NotStarting Cause = "not-starting"
)

// remedies are what helps, by cause.
var remedies = map[Cause]string{
	NoSystem:    "run the worker on Linux (amd64 or arm64)",
	NoProgram:   "install bubblewrap: apt install bubblewrap, dnf install bubblewrap, or pacman -S bubblewrap",
	OldProgram:  "install bubblewrap 0.8 or later",
	AppArmor:    "load the AppArmor profile bwrap-userns-restrict (package apparmor-profiles), or set kernel.apparmor_restrict_unprivileged_userns=0",
	Sysctl:      "set kernel.unprivileged_userns_clone=1 and user.max_user_namespaces above 0",
	Seccomp:     "run the worker on the host, or its container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined",
	MaskedProc:  "run the worker on the host, or its container with --security-opt systempaths=unconfined",
	Nested:      "start the worker outside of the sandbox",
	Shown:       "start the worker with a HOME and a --runs-dir outside of /usr and /opt",
	Leaks:       "do not run the worker here: the sandbox would not hold its programs",
	NotStarting: "run `bwrap --ro-bind / / --unshare-all true` to see the error",
}

// Unavailable is the error of [Open].
type Unavailable struct {
	Cause Cause
	Leaks []string // the attacks that succeeded
	Err   error    // nil when the cause says it all
}

// Remedy says what helps, in one line.
func (u *Unavailable) Remedy() string { return remedies[u.Cause] }

var sentences = map[Cause]string{
	NoSystem:    "this system has no sandbox",
	NoProgram:   "bubblewrap (bwrap) is not installed",
	OldProgram:  "bubblewrap is too old",
	AppArmor:    "AppArmor does not let bubblewrap use user namespaces",
	Sysctl:      "the kernel's settings forbid user namespaces",
	Seccomp:     "the system call filter of a container does not let bubblewrap use namespaces and mounts",
	MaskedProc:  "a container hides parts of /proc, so the sandbox cannot have its own",
	Nested:      "this process is in a sandbox itself, and sandboxes cannot be nested",
	Shown:       "programs in the sandbox see all of /usr and /opt, which contain something that they must not see",
	Leaks:       "the sandbox does not stop attacks",
	NotStarting: "bubblewrap does not start",
}

// Error says the cause in one line.
func (u *Unavailable) Error() string {
	text := "sandbox: " + sentences[u.Cause]
	if len(u.Leaks) > 0 {
		text += ": " + strings.Join(u.Leaks, ", ")
	}
	if u.Err != nil {
		text += ": " + strings.Join(strings.Fields(u.Err.Error()), " ")
	}
	return text
}

// Unwrap returns the failure that was met.
func (u *Unavailable) Unwrap() error { return u.Err }
