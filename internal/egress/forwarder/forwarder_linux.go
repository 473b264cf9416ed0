package forwarder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/proc/dumpable"
)

func init() {
	if len(os.Args) > 0 && (os.Args[0] == Name || strings.HasSuffix(os.Args[0], "/"+Name)) {
		syscall.Exit(forward(os.Args[1:])) // os.Exit would wait a second under the race detector
	}
}

// forward serves until the program has ended, and returns its exit code, or 128 and the number of
// the signal that ended it.
func forward(args []string) int {
	if len(args) < 5 || args[3] != "--" {
		fmt.Fprintln(os.Stderr, Name+": it needs a socket, an address, tunnels, -- and a program")
		return CodeFailed
	}
	o := Options{Socket: args[0], Proxy: args[1]}
	if args[2] != "" {
		o.Tunnels = strings.Split(args[2], ",")
	}
	told, code, err := o.run(args[4:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
		told.tell(FailedPath, err.Error())
		return CodeFailed
	}
	return code
}

// run returns the exit code of the program, or an error if it was not started.
func (o Options) run(argv []string) (told status, code int, err error) {
	if told, err = dialStatus(o.Socket); err != nil {
		return told, 0, err
	}
	if err := dumpable.Off(); err != nil {
		return told, 0, err
	}
	if err := o.listenAll(); err != nil {
		return told, 0, err
	}
	if err := told.tell(ReadyPath, ""); err != nil {
		return told, 0, err
	}
	code, err = runProgram(argv, Environ(os.Environ(), o.Proxy))
	return told, code, err
}

// listenAll brings up all addresses.
func (o Options) listenAll() error {
	proxy, err := net.Listen("tcp", o.Proxy)
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	go acceptConnections(proxy, func() (*net.UnixConn, error) { return dialSocket(o.Socket) })
	for _, target := range o.Tunnels {
		l, err := net.Listen("tcp", target)
		if err != nil {
			return fmt.Errorf("listen in the place of %s: %w", target, err)
		}
		go acceptConnections(l, func() (*net.UnixConn, error) { return dialTunnel(o.Socket, target) })
	}
	return nil
}

// acceptConnections copies each connection to one that dial makes.
func acceptConnections(l net.Listener, dial func() (*net.UnixConn, error)) {
	for {
		conn, err := l.Accept()
		if err != nil { // no descriptor is free: one becomes free when a connection ends
			time.Sleep(50 * time.Millisecond)
			continue
		}
		go func() {
			defer conn.Close()
			upstream, err := dial()
			if err != nil {
				return
			}
			defer upstream.Close()
			join(conn.(*net.TCPConn), upstream)
		}()
	}
}

// join copies both directions until each has ended, or one of them fails.
func join(a *net.TCPConn, b *net.UnixConn) {
	over := make(chan error, 2)
	go func() {
		_, err := io.Copy(a, b)
		over <- errors.Join(err, a.CloseWrite())
	}()
	go func() {
		_, err := io.Copy(b, a)
		over <- errors.Join(err, b.CloseWrite())
	}()
	if <-over == nil {
		<-over
	}
}

func dialSocket(path string) (*net.UnixConn, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
}

// dialTunnel returns a connection that the proxy has connected to the target.
func dialTunnel(path, target string) (*net.UnixConn, error) {
	conn, err := dialSocket(path)
	if err != nil {
		return nil, err
	}
	if err := sendRequest(conn, "CONNECT", target, ""); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// status is the connection on which the forwarder reports its state to the proxy.
type status struct{ conn *net.UnixConn }

func dialStatus(path string) (status, error) {
	conn, err := dialSocket(path)
	return status{conn}, err
}

func (s status) tell(path, reason string) error {
	if s.conn == nil {
		return nil
	}
	return sendRequest(s.conn, "POST", path, reason)
}

// maxHead is larger than the head of any answer of the proxy, in bytes.
const maxHead = 4096

// sendRequest sends a request and reads the head of its answer, without a byte of what follows.
func sendRequest(conn *net.UnixConn, method, target, body string) error {
	_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, "forwarder")
	if err == nil && method != "CONNECT" {
		_, err = fmt.Fprintf(conn, "Content-Length: %d\r\n", len(body))
	}
	if err == nil {
		_, err = io.WriteString(conn, "\r\n"+body)
	}
	if err != nil {
		return err
	}
	var head []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n"); head = append(head, one[0]) {
		if _, err := io.ReadFull(conn, one); err != nil {
			return err
		}
		if len(head) > maxHead {
			return errors.New("the proxy's answer does not end")
		}
	}
	if !strings.HasPrefix(string(head), "HTTP/1.1 2") {
		return fmt.Errorf("the proxy answered %.40q", head)
	}
	return nil
}

// passed are the signals that the program gets when the forwarder gets them.
var passed = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// runProgram runs the program in a process group of its own, so that a signal reaches it once.
func runProgram(argv, env []string) (int, error) {
	path, err := lookPath(argv[0])
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passed...)
	runtime.LockOSThread() // the program is killed when this thread ends
	p, err := os.StartProcess(path, argv, &os.ProcAttr{
		Env:   env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			p.Signal(s)
		}
	}()
	state, err := p.Wait()
	if err != nil {
		return 0, err
	}
	if end := state.Sys().(syscall.WaitStatus); end.Signaled() {
		return 128 + int(end.Signal()), nil
	}
	return state.ExitCode(), nil
}

// lookPath finds a program in the absolute directories of PATH.
func lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range strings.Split(os.Getenv("PATH"), ":") {
		path := dir + "/" + name
		if info, err := os.Stat(path); strings.HasPrefix(dir, "/") && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %s in PATH", name)
}
