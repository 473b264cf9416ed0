package box_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// target is a host as a battery finds it: a home with secrets, a repository with a work tree, the
// records of other runs, an engine, listeners, and a worker.
type target struct {
	battery
	t       testing.TB
	dir     string
	before  map[string]string      // by write: what its path was
	arrived map[string]func() bool // by dial: whether a listener was reached
}

func newTarget(t testing.TB) *target {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	x := &target{t: t, dir: t.TempDir(), before: map[string]string{}, arrived: map[string]func() bool{}}
	x.Canary, x.Host, x.Allowed = "canary-"+uuid.NewString(), host, []string{"PATH", "LANG", "HOME", "TMPDIR"}
	x.startWorker()
	x.secrets()
	x.places()
	x.listeners()
	x.shareMemory()
	for _, w := range x.Writes {
		x.before[w.Name] = look(w.Path)
	}
	return x
}

// path is a path below the world, slash-separated.
func (x *target) path(name string) string { return filepath.Join(x.dir, filepath.FromSlash(name)) }

// put makes a file with the canary in it.
func (x *target) put(name string) string {
	x.t.Helper()
	path := x.path(name)
	mkdir(x.t, filepath.Dir(path), "")
	write(x.t, path, "it holds "+x.Canary+"\n", 0o600)
	return path
}

// home, tree and own are what the run has.
func (x *target) home() string { return x.path("runs/tmp/this") }
func (x *target) tree() string { return x.path("runs/trees/this") }

// secrets are files that no program of a run may read.
func (x *target) secrets() {
	for _, name := range []string{
		"home/.ssh/id_ed25519", "home/.netrc", "home/.npmrc", "home/.aws/credentials", "home/.docker/config.json", "home/.config/gh/hosts.yml",
		"home/.codex/auth.json", "home/.claude/.credentials.json", "home/.git-credentials", "home/.kube/config", "home/.pypirc", "home/notes.txt",
		"repo/.git/config", "repo/file", "runs/workflows/other/events.ndjson", "runs/workflows/this/events.ndjson", "runs/trees/other/file",
		"runs/tmp/other/file", "runs/cache/other/object", "state/engine.json", "state/engine.db",
	} {
		x.Reads = append(x.Reads, read1{"read " + name, x.put(name)})
	}
	for _, link := range []string{"cwd", "root" + x.dir} {
		x.Reads = append(x.Reads, read1{"read a secret by the worker's " + strings.TrimSuffix(link, x.dir), filepath.Join("/proc", fmt.Sprint(x.Worker), link, "state/engine.db")})
	}
	for _, file := range []string{"environ", "cmdline"} {
		x.Reads = append(x.Reads, read1{"read the worker's " + file, filepath.Join("/proc", fmt.Sprint(x.Worker), file)})
	}
	shm := filepath.Join("/dev/shm", x.Canary)
	write(x.t, shm, x.Canary, 0o600)
	x.t.Cleanup(func() { os.Remove(shm) })
	x.Reads = append(x.Reads, read1{"read a file of /dev/shm", shm})
}

// places are files and directories that no program of a run may change.
func (x *target) places() {
	x.Tree = x.tree()
	mkdir(x.t, x.home(), "")
	for _, dir := range []string{"repo/.git/hooks", "repo/.git/refs/heads", "repo/.git/objects", "runs/trees/this/.git/hooks", "home/.config"} {
		mkdir(x.t, x.path(dir), "")
	}
	for _, name := range []string{"home/.bashrc", "home/.ssh/authorized_keys", "runs/trees/this/.git/config", "runs/trees/this/.git/HEAD", "bin/worker", "tools/compiler"} {
		x.put(name)
	}
	for _, w := range []struct{ how, name string }{
		{"append", "home/.bashrc"}, {"create", "home/.profile"}, {"append", "home/.ssh/authorized_keys"}, {"create", "home/.gitconfig"},
		{"create", "home/.config/autostart"}, {"link", "home/.bash_logout"}, {"remove", "home/.netrc"}, {"chmod", "home/.git-credentials"},
		{"append", "repo/file"}, {"append", "repo/.git/config"}, {"create", "repo/.git/hooks/post-checkout"}, {"create", "repo/.git/refs/heads/planted"},
		{"create", "repo/.git/objects/planted"}, {"append", "runs/trees/this/.git/config"}, {"create", "runs/trees/this/.git/hooks/pre-commit"},
		{"replace", "runs/trees/this/.git/HEAD"}, {"append", "runs/workflows/this/events.ndjson"}, {"append", "runs/workflows/other/events.ndjson"},
		{"append", "runs/trees/other/file"}, {"create", "runs/cache/other/planted"}, {"truncate", "state/engine.db"}, {"append", "state/engine.json"},
		{"replace", "bin/worker"}, {"append", "tools/compiler"}, {"remove", "runs/tmp/other"},
	} {
		x.Writes = append(x.Writes, write1{w.how + " " + w.name, w.how, x.path(w.name)})
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run", "/etc", "/usr/local/bin", "/opt"} {
		path := filepath.Join(dir, "planted-"+x.Canary)
		x.Writes = append(x.Writes, write1{"create a file in " + dir, "create", path})
		x.t.Cleanup(func() { os.Remove(path) })
	}
}

// look returns what a path is: its content and mode, or that there is nothing.
func look(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "nothing"
	}
	if info.IsDir() {
		return "a directory"
	}
	text, _ := os.ReadFile(path)
	return info.Mode().String() + string(text)
}

// startWorker starts a process that has the canary in its environment and its arguments.
func (x *target) startWorker() {
	cmd := exec.Command("/bin/sh", "-c", ": "+x.Canary+"; echo; exec sleep 600")
	cmd.Env, cmd.Dir = []string{"KEY=" + x.Canary, "PATH=/usr/bin:/bin"}, x.dir
	cmd.Args[2] = "echo; read never; : " + x.Canary // one that does not become another program
	in, err := cmd.StdinPipe()
	if err != nil {
		x.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		x.t.Fatal(err)
	}
	out.Read(make([]byte, 1)) // it runs
	x.Worker = cmd.Process.Pid
	x.t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
}

// listeners are what no program of a run may reach.
func (x *target) listeners() {
	abstract := "@" + x.Canary
	sockets := map[string]string{}
	short, err := os.MkdirTemp("", "s") // the path of a socket is bounded
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { os.RemoveAll(short) })
	for _, name := range []string{"docker.sock", "agent.1", "control"} {
		sockets[name] = filepath.Join(short, name)
	}
	x.listen("connect by TCP", "tcp4", "127.0.0.1:0", dial1{Family: syscall.AF_INET, Kind: syscall.SOCK_STREAM})
	x.listen("connect by MPTCP", "tcp4", "127.0.0.1:0", dial1{Family: syscall.AF_INET, Kind: syscall.SOCK_STREAM, Proto: unix.IPPROTO_MPTCP})
	x.listen("connect by TCP to ::1", "tcp6", "[::1]:0", dial1{Family: syscall.AF_INET6, Kind: syscall.SOCK_STREAM})
	x.listen("connect by TCP to another address of loopback", "tcp4", "127.0.0.9:0", dial1{Family: syscall.AF_INET, Kind: syscall.SOCK_STREAM})
	x.listen("connect to an abstract socket", "unix", abstract, dial1{Family: syscall.AF_UNIX, Kind: syscall.SOCK_STREAM})
	x.listen("connect to Docker's socket", "unix", sockets["docker.sock"], dial1{Family: syscall.AF_UNIX, Kind: syscall.SOCK_STREAM})
	x.listen("connect to an agent of keys", "unix", sockets["agent.1"], dial1{Family: syscall.AF_UNIX, Kind: syscall.SOCK_STREAM})
	x.listen("send to a control socket", "unixgram", sockets["control"], dial1{Family: syscall.AF_UNIX, Kind: syscall.SOCK_DGRAM})
	x.listen("send by UDP", "udp4", "127.0.0.1:0", dial1{Family: syscall.AF_INET, Kind: syscall.SOCK_DGRAM})
	x.listen("send by UDP to ::1", "udp6", "[::1]:0", dial1{Family: syscall.AF_INET6, Kind: syscall.SOCK_DGRAM})
	if address := ownAddress(); address != "" {
		x.listen("connect to the host's own address", "tcp4", address+":0", dial1{Family: syscall.AF_INET, Kind: syscall.SOCK_STREAM})
	}
	for name, address := range map[string]string{"a route to the network": "192.0.2.1", "a route to the cloud's metadata": "169.254.169.254"} {
		x.Dials = append(x.Dials, dial1{Name: name, Family: syscall.AF_INET, Kind: syscall.SOCK_DGRAM, Address: address, Port: 9})
	}
}

// ownAddress returns an IPv4 address of the host other than loopback, or "".
func ownAddress() string {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	return ""
}

// listen opens a listener. A machine without the address has no
// probe for it.
func (x *target) listen(name, network, address string, d dial1) {
	var lc net.ListenConfig
	d.Name, d.Judged = name, true
	d.Address, d.Port = address, 0
	if host, _, err := net.SplitHostPort(address); err == nil {
		d.Address = host
	}
	if d.Kind == syscall.SOCK_DGRAM {
		c, err := lc.ListenPacket(context.Background(), network, address)
		if err != nil {
			x.t.Logf("%s: %v", name, err)
			return
		}
		if at, ok := c.LocalAddr().(*net.UDPAddr); ok {
			d.Port = at.Port
		}
		x.t.Cleanup(func() { c.Close() })
		x.arrived[name] = func() bool {
			c.SetReadDeadline(time.Now().Add(arrival))
			n, _, err := c.ReadFrom(make([]byte, 1))
			return err == nil && n > 0
		}
		x.Dials = append(x.Dials, d)
		return
	}
	l, err := lc.Listen(context.Background(), network, address)
	if err != nil {
		x.t.Logf("%s: %v", name, err)
		return
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		d.Port = at.Port
	}
	x.t.Cleanup(func() { l.Close() })
	x.arrived[name] = func() bool {
		l.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(arrival))
		c, err := l.Accept()
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	x.Dials = append(x.Dials, d)
}

// arrival is the time to take what the kernel has queued for a listener already.
const arrival = 5 * time.Millisecond

// shareMemory makes a segment of System V shared memory.
func (x *target) shareMemory() {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		x.t.Fatal(err)
	}
	x.Memory = id
	x.t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
}

// traces returns the names of the probes that the host sees to have succeeded.
func (x *target) traces() (seen []string) {
	for _, w := range x.Writes {
		if look(w.Path) != x.before[w.Name] {
			seen = append(seen, w.Name)
		}
	}
	for name, arrived := range x.arrived {
		if arrived() {
			seen = append(seen, name)
		}
	}
	return seen
}
