package box

import (
	"slices"
	"strings"
	"testing"
)

var someHost = host{
	links: map[string]string{"bin": "usr/bin", "lib": "usr/lib"}, dirs: []string{"/opt"}, etc: []string{"/etc/passwd"},
	masks: []string{"/proc/kcore"},
}

// base is what every box of someHost with 1 MiB of disk has, without the environment.
const base = `--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try --disable-userns
--uid 65534 --gid 65534 --cap-drop ALL --die-with-parent --new-session --hostname box
--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --ro-bind /opt /opt --ro-bind /etc/passwd /etc/passwd
--proc /proc --ro-bind /dev/null /proc/kcore --remount-ro /proc
--dev /dev --size 1048576 --perms 1777 --tmpfs /dev/shm --remount-ro /dev
--size 1048576 --perms 1777 --tmpfs /tmp --symlink ../tmp /var/tmp --dir /run `

func TestArgs(t *testing.T) {
	for name, test := range map[string]struct {
		in            inside
		args, command string
	}{
		"nothing but a program": {
			inside{dir: "/t", argv: []string{"sh"}},
			base + "--remount-ro / --clearenv --chdir /t", "sh",
		},
		"a tree with a repository": {
			inside{dir: "/t", mounts: []mount{{writable, "/t", "/t"}, {readOnly, "/t/.git", "/t/.git"}}, argv: []string{"sh", "-c", "x"}},
			base + "--bind /t /t --ro-bind /t/.git /t/.git --remount-ro / --clearenv --chdir /t", "sh -c x",
		},
		"a directory in the place of another": {
			inside{dir: "/t", mounts: []mount{{writable, "/t", "/t"}, {lent, "/c", "/t/d"}}, argv: []string{"sh"}},
			base + "--bind /t /t --bind /c /t/d --remount-ro / --clearenv --chdir /t", "sh",
		},
		"a tree without one": {
			inside{dir: "/t", fence: 6, mounts: []mount{{kind: fence, to: "/t/.git"}}, argv: []string{"sh"}},
			base + "--ro-bind-data 6 /t/.git --remount-ro / --clearenv --chdir /t", "sh",
		},
		"variables, one of them without a name": {
			inside{dir: "/t", env: []string{"A=1", "B=", "C", "=x", "D=e=f"}, argv: []string{"sh"}},
			base + "--remount-ro / --clearenv --setenv A 1 --setenv B  --setenv D e=f --chdir /t", "sh",
		},
		"files to copy": {
			inside{dir: "/t", copies: []copied{{"/etc/hosts", 6}, {"/etc/group", 7}}, mounts: []mount{{writable, "/t", "/t"}}, argv: []string{"sh"}},
			strings.Replace(base, "--dev ", "--perms 0444 --file 6 /etc/hosts --perms 0444 --file 7 /etc/group --dev ", 1) + "--bind /t /t --remount-ro / --clearenv --chdir /t", "sh",
		},
		"a way to the network": {
			inside{
				dir: "/t", own: "/w", names: []string{"fwd"}, argv: []string{"sh"},
				egress: &Egress{Socket: "/s", Forwarder: "fwd", Args: []string{"-p", "1"}},
			},
			base + "--ro-bind /w /run/ratchet/fwd --bind /s /run/egress.sock --remount-ro / --clearenv --chdir /t",
			"/run/ratchet/fwd -p 1 -- sh",
		},
	} {
		test.in.disk = 1 << 20
		got, command := strings.Join(args(someHost, test.in), " "), strings.Join(test.in.command(), " ")
		if want := strings.ReplaceAll(test.args, "\n", " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		if command != test.command {
			t.Errorf("%s: command %q; want %q", name, command, test.command)
		}
	}
}

// The options that would take a belt away must not be had by a spec.
func TestArgsShareNothing(t *testing.T) {
	got := args(someHost, inside{dir: "/t", disk: 1})
	for _, never := range []string{"--share-net", "--dev-bind", "--cap-add", "--unshare-user-try"} {
		if slices.Contains(got, never) {
			t.Errorf("%s is there", never)
		}
	}
}
