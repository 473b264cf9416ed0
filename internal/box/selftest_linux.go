package box

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/box/inner"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// probeEnv is the whole environment of the self-test's program.
var probeEnv = []string{"PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}

// selfTest runs the attacks in a box. The error is an [*Unavailable] when one succeeded, and an
// error of package proc when the box did not start.
func (b *Box) selfTest(ctx context.Context) error {
	w, err := makeWorld()
	if err != nil {
		return fmt.Errorf("self-test: %w", err)
	}
	defer w.close()
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	out := proc.NewHeadTail(16<<10, 0)
	r, err := proc.Run(ctx, proc.Command{
		Argv: append([]string{b.own}, w.Args()...), Env: probeEnv, Stdout: out,
		Box: entry{box: b, spec: Spec{Tree: w.Tree}, name: inner.ProbeName},
	})
	if err != nil {
		return err
	}
	lines := strings.Fields(strings.ReplaceAll(out.String(), " ", "\x00"))
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "\x00", " ")
	}
	if r.End != proc.Exited || r.ExitCode != 0 || len(lines) == 0 || lines[len(lines)-1] != inner.Done {
		return &Unavailable{Cause: NotStarting, Err: fmt.Errorf("the self-test did not come to its end within %s: %+v", openLimit, r)}
	}
	leaks := lines[:len(lines)-1]
	for _, seen := range w.touched() {
		if !slices.Contains(leaks, seen) {
			leaks = append(leaks, seen)
		}
	}
	if len(leaks) > 0 {
		return &Unavailable{Cause: Leaks, Leaks: leaks}
	}
	return nil
}

// world is what the attacks of a self-test aim at, outside of the box.
type world struct {
	inner.World
	dir     string
	config  string // the .git/config of the tree
	closers []func() error

	mu      sync.Mutex
	reached []string // the listeners that an attack reached
	served  sync.WaitGroup
}

const victimText = "unchanged\n"

// makeWorld makes the files and the listeners.
func makeWorld() (_ *world, err error) {
	w := &world{}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.dir, err = os.MkdirTemp(file.SocketDir(), "ratchet-box-"); err != nil {
		return nil, err
	}
	w.Secret, w.Victim = filepath.Join(w.dir, "secret"), filepath.Join(w.dir, "victim")
	w.Tree, w.Socket = filepath.Join(w.dir, "tree"), filepath.Join(w.dir, "socket")
	w.config = filepath.Join(w.Tree, ".git", "config")
	w.Worker, w.Abstract, w.Allowed = strconv.Itoa(os.Getpid()), "ratchet-"+rand.Text(), "PATH,HOME,LANG"
	if err := os.MkdirAll(filepath.Dir(w.config), 0o700); err != nil {
		return nil, err
	}
	for _, path := range []string{w.Secret, w.Victim, w.config} {
		if err := os.WriteFile(path, []byte(victimText), 0o600); err != nil {
			return nil, err
		}
	}
	if w.Host, err = os.Hostname(); err != nil {
		return nil, err
	}
	if err := w.shareMemory(); err != nil {
		return nil, err
	}
	return w, w.listen()
}

// shareMemory makes a segment of shared memory.
func (w *world) shareMemory() error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		return fmt.Errorf("shared memory: %w", err)
	}
	w.Memory = strconv.Itoa(id)
	w.closers = append(w.closers, func() error {
		_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return err
	})
	return nil
}

// listen opens the listeners.
func (w *world) listen() error {
	var lc net.ListenConfig
	ctx := context.Background()
	for _, l := range []struct {
		network, address, attack string
		port                     *string
	}{
		{"tcp", "127.0.0.1:0", "connect to the host by TCP", &w.TCP},
		{"unix", "@" + w.Abstract, "connect to an abstract socket", nil},
		{"unix", w.Socket, "connect to a socket of the user", nil},
	} {
		listener, err := lc.Listen(ctx, l.network, l.address)
		if err != nil {
			return err
		}
		if l.port != nil {
			_, *l.port, _ = net.SplitHostPort(listener.Addr().String())
		}
		w.closers = append(w.closers, listener.Close)
		w.served.Go(func() { w.accept(listener, l.attack) })
	}
	packets, err := lc.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, w.UDP, _ = net.SplitHostPort(packets.LocalAddr().String())
	w.closers = append(w.closers, packets.Close)
	w.served.Go(func() {
		if _, _, err := packets.ReadFrom(make([]byte, 1)); err == nil {
			w.reach("send to the host by UDP")
		}
	})
	return nil
}

func (w *world) accept(l net.Listener, attack string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conn.Close()
		w.reach(attack)
	}
}

func (w *world) reach(attack string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = append(w.reached, attack)
}

// touched returns the attacks that left a trace outside.
func (w *world) touched() []string {
	w.closeListeners()
	traces := slices.Clone(w.reached)
	for _, f := range []struct{ path, attack string }{
		{w.Victim, "write a file of the user"},
		{w.config, "write the work tree's .git"},
	} {
		if text, err := os.ReadFile(f.path); err != nil || string(text) != victimText {
			traces = append(traces, f.attack)
		}
	}
	if _, err := os.Lstat(w.Victim + inner.NeighbourSuffix); err == nil {
		traces = append(traces, "make a file beside it")
	}
	return traces
}

func (w *world) closeListeners() {
	for _, c := range w.closers {
		c()
	}
	w.closers = nil
	w.served.Wait()
}

func (w *world) close() {
	w.closeListeners()
	if w.dir != "" {
		os.RemoveAll(w.dir)
	}
}
