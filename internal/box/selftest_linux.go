package box

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if r.End != proc.Exited || r.ExitCode != 0 || lines[len(lines)-1] != inner.Done {
		return &Unavailable{Cause: NotStarting, Err: fmt.Errorf("the self-test did not end within %s: %+v", openLimit, r)}
	}
	if leaks := lines[:len(lines)-1]; len(leaks) > 0 {
		return &Unavailable{Cause: Leaks, Leaks: leaks}
	}
	return nil
}

// world is what the attacks of a self-test aim at, outside of the box.
type world struct {
	inner.World
	dir       string
	listeners []net.Listener // a connection is made without Accept
}

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
	w.File, w.Tree, w.Socket = filepath.Join(w.dir, "file"), filepath.Join(w.dir, "tree"), filepath.Join(w.dir, "socket")
	w.Worker, w.Allowed = strconv.Itoa(os.Getpid()), "PATH,HOME,LANG"
	config := filepath.Join(w.Tree, ".git", "config")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		return nil, err
	}
	for _, path := range []string{w.File, config} {
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			return nil, err
		}
	}
	for _, at := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", w.Socket}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			return nil, err
		}
		w.listeners = append(w.listeners, l)
	}
	_, w.TCP, err = net.SplitHostPort(w.listeners[0].Addr().String())
	return w, err
}

func (w *world) close() {
	for _, l := range w.listeners {
		l.Close()
	}
	if w.dir != "" {
		os.RemoveAll(w.dir)
	}
}
