package forwarder_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/egress/forwarder"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestMain is also the programs of a box: this binary, called with the name of one.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "get": // prints the body of a URL by the proxy of the environment
		body, err := fetch(os.Args[2])
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		fmt.Print(body)
	case "dial": // says whether an address can be reached without a proxy
		_, err := net.DialTimeout("tcp", os.Args[2], 5*time.Second)
		fmt.Print(err)
	case "kill": // ends its parent, which is the forwarder, and tries to go on
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		io.WriteString(os.Stdout, "alive")
		for { // until the box ends it
			syscall.Pause()
		}
	case "parent": // says what it can open of the forwarder's memory and descriptors
		for _, name := range []string{"mem", "environ", "fd/1"} {
			_, err := os.Open(fmt.Sprintf("/proc/%d/%s", os.Getppid(), name))
			fmt.Println(name, err == nil)
		}
	case "forge": // tells the proxy that there was no start
		conn, _ := net.Dial("unix", os.Args[2])
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlies", forwarder.FailedPath)
		answer, _ := io.ReadAll(conn)
		fmt.Printf("%.12s", answer)
	default:
		os.Exit(m.Run())
	}
}

func fetch(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	res, err := (&http.Client{Transport: transport}).Get(u.String())
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, body), err
}

// box is a bubblewrap without a network, with a forwarder as its first program.
type box struct {
	proxy  *egress.Proxy
	socket string   // inside
	argv   []string // up to the program
}

func newBox(t testing.TB, targets ...string) *box {
	t.Helper()
	need.Sandbox(t)
	bwrap := need.Program(t, "bwrap")
	var c egress.Config
	for _, text := range targets {
		target, err := allow.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.Targets = append(c.Targets, target)
	}
	proxy, err := egress.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	called := filepath.Join(t.TempDir(), forwarder.Name)
	if err := os.Symlink(self, called); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	argv := []string{
		bwrap, "--unshare-all", "--die-with-parent", "--dev-bind", "/", "/", "--proc", "/proc", "--bind", proxy.Socket(), socket, "--", called,
	}
	return &box{proxy: proxy, socket: socket, argv: append(append(argv, proxy.Forwarder(socket).Args()...), "--")}
}

// command returns a program of this binary, or another one, in the box.
func (b *box) command(ctx context.Context, argv ...string) *exec.Cmd {
	if !strings.Contains(argv[0], "/") {
		self, _ := os.Executable()
		argv = append([]string{self}, argv...)
	}
	all := append(slices.Clone(b.argv), argv...)
	return exec.CommandContext(ctx, all[0], all[1:]...)
}

func (b *box) run(t testing.TB, argv ...string) (output string, code int) {
	t.Helper()
	out, err := b.command(t.Context(), argv...).CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	code = 0
	if e, ended := err.(*exec.ExitError); ended {
		code = e.ExitCode()
	}
	return string(out), code
}

func newServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.Host) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestAProgramReachesWhatIsAllowedAndNothingElse(t *testing.T) {
	good, other := newServer(t), newServer(t)
	reached, refused := map[string]int{}, map[string]int{}
	for name, tt := range map[string]struct {
		argv []string
		want string
	}{
		"the target":                 {[]string{"get", "http://" + good + "/"}, "200 hello " + good},
		"another server of loopback": {[]string{"dial", other}, "connection refused"},
		"the network":                {[]string{"dial", "203.0.113.1:80"}, "unreachable"},
		"a name":                     {[]string{"get", "http://name.example/"}, "403 ratchet: \"http://name.example/\": this sandbox may not reach it"},
	} {
		b := newBox(t, good)
		if out, code := b.run(t, tt.argv...); !strings.Contains(out, tt.want) || code != 0 {
			t.Errorf("%s: %q, %d, want %q", name, out, code, tt.want)
		}
		if err := b.proxy.Begun(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		traffic := b.proxy.Traffic()
		maps.Copy(reached, traffic.Reached)
		maps.Copy(refused, traffic.Refused)
	}
	if len(reached) != 1 || reached[good] == 0 || len(refused) != 1 || !strings.HasPrefix(slices.Collect(maps.Keys(refused))[0], "http://name.example/: ") {
		t.Errorf("noted %v and %v", reached, refused)
	}
	// Without the box the other server is there.
	if _, err := net.Dial("tcp", other); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestTheTargetsOfLoopbackMayNeedThePortOfTheProxy(t *testing.T) {
	b := newBox(t, fmt.Sprintf("127.0.0.1:%d", forwarder.DefaultPort))
	if out, code := b.run(t, "/bin/sh", "-c", "echo $HTTP_PROXY"); out != fmt.Sprintf("http://127.0.0.1:%d\n", forwarder.DefaultPort+1) || code != 0 {
		t.Errorf("got %q, %d", out, code)
	}
}

func TestTheEndOfTheProgramIsTheForwarders(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -SEGV $$": 139, "exit 125": 125} {
		b := newBox(t)
		if out, code := b.run(t, "/bin/sh", "-c", script); code != want || b.proxy.Begun() != nil {
			t.Errorf("%s: %d, %q, %v", script, code, out, b.proxy.Begun())
		}
	}
}

func TestAProgramThatNeverRanIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		argv []string
		want string
	}{
		"a path to nothing":      {[]string{"/no/such/program"}, "no such file"},
		"a program that fails":   {[]string{"/bin/false"}, ""},
		"a file without a right": {[]string{"/etc/passwd"}, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			out, _ := b.run(t, tt.argv...)
			err := b.proxy.Begun()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %q, want %q", err, out, tt.want)
			}
		})
	}
	b := newBox(t)
	b.argv[slices.Index(b.argv, "")-2] = "/no/such/socket"
	if out, code := b.run(t, "/bin/true"); code != forwarder.CodeFailed || b.proxy.Begun() == nil {
		t.Errorf("without a socket: %q, %d, %v", out, code, b.proxy.Begun())
	}
}

func TestAProgramGainsNothingFromTheForwarder(t *testing.T) {
	if out, code := newBox(t).run(t, "kill"); code != 137 {
		t.Errorf("the forwarder killed: %q, %d", out, code)
	}
	b := newBox(t)
	if out, code := b.run(t, "forge", b.socket); out != "HTTP/1.1 403" || code != 0 || b.proxy.Begun() != nil {
		t.Errorf("a forged start: %q, %d, %v", out, code, b.proxy.Begun())
	}
}

// A program without capabilities, as a box has them, cannot look into the forwarder. The control is the
// same program with all capabilities.
func TestTheForwarderIsClosed(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		options    []string
	}{
		{"without capabilities", "mem false\nenviron false\nfd/1 false\n", []string{"--unshare-user", "--cap-drop", "ALL"}},
		{"with all of them", "mem true\nenviron true\nfd/1 true\n", []string{"--cap-add", "ALL"}},
	} {
		b := newBox(t)
		b.argv = slices.Insert(b.argv, 1, tt.options...)
		if out, code := b.run(t, "parent"); out != tt.want || code != 0 {
			t.Errorf("%s: %q, %d", tt.name, out, code)
		}
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1} {
		b := newBox(t)
		cmd := b.command(t.Context(), "/bin/sh", "-c", `trap "echo got; exit 9" TERM USR1; echo ready; while :; do read x; done`)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReaderSize(out, 16).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := syscall.Kill(forwarderOf(t, cmd.Process.Pid), s); err != nil {
			t.Fatal(err)
		}
		io.WriteString(in, "\n")
		var rest bytes.Buffer
		io.Copy(&rest, out)
		cmd.Wait()
		if rest.String() != "got\n" || cmd.ProcessState.ExitCode() != 9 {
			t.Errorf("%v: %q, %v", s, rest.String(), cmd.ProcessState)
		}
	}
}

// forwarderOf returns the process of the forwarder below a process, as the host counts.
func forwarderOf(t *testing.T, pid int) int {
	t.Helper()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		children := strings.Fields(string(text))
		if err != nil || len(children) == 0 {
			t.Fatalf("no forwarder below: %v", err)
		}
		fmt.Sscan(children[0], &pid)
		if argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(strings.SplitN(string(argv), "\x00", 2)[0], forwarder.Name) {
			return pid
		}
	}
}

func TestEnviron(t *testing.T) {
	got := forwarder.Environ([]string{"A=1", "https_proxy=http://corp", "NO_PROXY=*", "HTTP_PROXY="}, "127.0.0.1:3128")
	slices.Sort(got)
	want := []string{
		"ALL_PROXY=http://127.0.0.1:3128", "A=1", "HTTPS_PROXY=http://127.0.0.1:3128", "HTTP_PROXY=http://127.0.0.1:3128",
		"NODE_USE_ENV_PROXY=1", "NO_PROXY=localhost,127.0.0.1,::1", "all_proxy=http://127.0.0.1:3128",
		"http_proxy=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128", "no_proxy=localhost,127.0.0.1,::1",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
