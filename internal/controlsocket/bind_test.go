package controlsocket_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/peertest"
)

func TestOnlyTheOwnerReachesTheSocket(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	path := controlsocket.Path(filepath.Join(folder(t), "a", "control"), gid)
	must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	s, err := controlsocket.Listen(t.Context(), path, &session{})
	must(t, err)
	defer s.Close()
	for name, want := range map[string]fs.FileMode{filepath.Dir(path): fs.ModeDir | 0o700, path: fs.ModeSocket | 0o600} {
		if info, err := os.Lstat(name); err != nil || info.Mode() != want {
			t.Errorf("%s is %s, %v", name, info.Mode(), err)
		}
	}
}

func TestTheDirectoryIsMade(t *testing.T) {
	path := controlsocket.Path(filepath.Join(folder(t), "a", "b"), gid)
	s, err := controlsocket.Listen(t.Context(), path, &session{})
	must(t, err)
	must(t, s.Close())
}

func TestListenTakesThePlaceOfTheDead(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	stale(t, path)
	s, err := controlsocket.Listen(t.Context(), path, &session{})
	must(t, err)
	defer s.Close()
	if got := controlsocket.Look(t.Context(), path); got.Liveness != dispatch.Alive {
		t.Error(got)
	}
}

func TestListenLeavesItsNeighbours(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	stale(t, path)
	neighbours := []string{"dead.sock", "alive.sock", "unclear.sock", "link.sock"}
	stale(t, beside(path, "dead.sock"))
	listen(t, beside(path, "alive.sock"))
	datagram(t, beside(path, "unclear.sock"))
	symlink(t, "dead.sock", beside(path, "link.sock"))
	s, err := controlsocket.Listen(t.Context(), path, &session{})
	must(t, err)
	must(t, s.Close())
	for _, name := range neighbours {
		if !exists(beside(path, name)) {
			t.Errorf("%s was removed", name)
		}
	}
}

func TestListenLeavesWhatIsInTheWay(t *testing.T) {
	for name, tt := range map[string]struct {
		put  func(t *testing.T, path string) string
		says string
	}{
		"a file":             {func(t *testing.T, path string) string { write(t, path); return path }, "not-socket is in the way"},
		"a directory":        {func(t *testing.T, path string) string { must(t, os.Mkdir(path, 0o755)); return path }, "not-socket is in the way"},
		"a fifo":             {func(t *testing.T, path string) string { must(t, unix.Mkfifo(path, 0o600)); return path }, "not-socket is in the way"},
		"a dangling symlink": {func(t *testing.T, path string) string { symlink(t, "nowhere", path); return path }, "symlink is in the way"},
		"a symlink to a dead socket": {func(t *testing.T, path string) string {
			stale(t, beside(path, "x"))
			symlink(t, "x", path)
			return path
		}, "symlink is in the way"},
		"a socket of another kind":    {func(t *testing.T, path string) string { datagram(t, path); return path }, "cannot tell"},
		"a session that runs":         {func(t *testing.T, path string) string { listen(t, path); return path }, controlsocket.ErrInUse.Error()},
		"a path that is too long":     {func(_ *testing.T, path string) string { return path + strings.Repeat("x", controlsocket.MaxPath) }, "at most"},
		"a path that is not absolute": {func(*testing.T, string) string { return string(gid) + ".sock" }, "not absolute"},
		"a parent that is a file":     {func(t *testing.T, path string) string { write(t, path); return path + "/x.sock" }, "not a directory"},
		"a directory that is shared": {func(t *testing.T, path string) string {
			must(t, os.Chmod(filepath.Dir(path), 0o777|fs.ModeSticky))
			return path
		}, "other users"},
	} {
		t.Run(name, func(t *testing.T) {
			path := tt.put(t, controlsocket.Path(folder(t), gid))
			before, _ := os.Lstat(path)
			s, err := controlsocket.Listen(t.Context(), path, &session{})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			if after, _ := os.Lstat(path); before != nil && !os.SameFile(before, after) {
				t.Error("it was touched")
			}
		})
	}
}

func datagram(t *testing.T, path string) {
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { l.Close() })
}

func TestRemoveDead(t *testing.T) {
	for name, tt := range map[string]struct {
		put   func(t *testing.T, path string)
		stays bool
	}{
		"nothing":                     {func(*testing.T, string) {}, false},
		"no directory":                {func(t *testing.T, path string) { must(t, os.Remove(filepath.Dir(path))) }, false},
		"a dead socket":               {func(t *testing.T, path string) { stale(t, path) }, false},
		"a dead socket of a stranger": {func(t *testing.T, path string) { stale(t, path); disown(t, path) }, true},
		"a session that runs":         {func(t *testing.T, path string) { listen(t, path) }, true},
		"a socket of another kind":    {func(t *testing.T, path string) { datagram(t, path) }, true},
		"a file":                      {func(t *testing.T, path string) { write(t, path) }, true},
		"a directory":                 {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) }, true},
		"a dangling symlink":          {func(t *testing.T, path string) { symlink(t, "nowhere", path) }, true},
		"a symlink to a dead socket":  {func(t *testing.T, path string) { stale(t, beside(path, "x")); symlink(t, "x", path) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(filepath.Join(folder(t), "control"), gid)
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			neighbour := path + "x"
			if tt.put(t, path); exists(filepath.Dir(path)) {
				stale(t, neighbour)
				defer func() {
					if !exists(neighbour) {
						t.Error("the one beside it was removed")
					}
				}()
			}
			for range 2 {
				must(t, controlsocket.RemoveDead(t.Context(), path))
			}
			if exists(path) != tt.stays {
				t.Errorf("it is there: %v", exists(path))
			}
		})
	}
}

// disown gives a file to another user.
func disown(t *testing.T, path string) {
	t.Helper()
	if err := os.Lchown(path, 65534, -1); err != nil {
		t.Skip("only root gives files away:", err)
	}
}

func TestRemoveDeadWaitsForWhoBinds(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	stale(t, path)
	dir, err := os.Open(filepath.Dir(path))
	must(t, err)
	defer dir.Close()
	must(t, unix.Flock(int(dir.Fd()), unix.LOCK_EX))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := controlsocket.RemoveDead(ctx, path); !errors.Is(err, context.Canceled) || !exists(path) {
		t.Error(err)
	}
}

func TestListenSaysThatTheAddressIsInUse(t *testing.T) {
	path, _ := serve(t, &session{})
	if _, err := controlsocket.Listen(t.Context(), path, &session{}); !errors.Is(err, controlsocket.ErrInUse) {
		t.Error(err)
	}
}

func TestListenDoesNotWaitForEver(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	dir, err := os.Open(filepath.Dir(path))
	must(t, err)
	defer dir.Close()
	must(t, unix.Flock(int(dir.Fd()), unix.LOCK_EX))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := controlsocket.Listen(ctx, path, &session{}); !errors.Is(err, context.Canceled) || exists(path) {
		t.Error(err)
	}
}

// Of servers that start together over a dead socket one gets the address, and
// none takes it from another.
func TestOneOfManyServersGetsTheAddress(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	stale(t, path)
	var mu sync.Mutex
	var won []*controlsocket.Server
	var starters sync.WaitGroup
	for range 8 {
		starters.Go(func() {
			s, err := controlsocket.Listen(t.Context(), path, &session{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, s)
			} else if !errors.Is(err, controlsocket.ErrInUse) {
				t.Error(err)
			}
		})
	}
	starters.Wait()
	if len(won) != 1 {
		t.Fatalf("%d servers", len(won))
	}
	must(t, peertest.Abort(t.Context(), path))
	must(t, won[0].Close())
}

func TestCloseTakesThePathAway(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	s, err := controlsocket.ServeWith(t.Context(), path, &session{}, controlsocket.Limits{First: time.Hour, Patience: time.Hour, Farewell: time.Hour})
	must(t, err)
	conn := connect(t, path)
	_, err = conn.Write([]byte("x\n"))
	must(t, err)
	served := bufio.NewReader(conn)
	_, err = served.ReadString('\n')
	must(t, err)
	must(t, s.Close())
	if exists(path) {
		t.Error("the path is still there")
	}
	if _, err := served.ReadByte(); err == nil {
		t.Error("the connection is still open")
	}
	must(t, s.Close())
	next, err := controlsocket.Listen(t.Context(), path, &session{})
	must(t, err)
	must(t, next.Close())
}

func TestCloseLeavesWhatIsNotItsOwn(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, path string){
		"a file":                      func(t *testing.T, path string) { write(t, path) },
		"a socket of another session": func(t *testing.T, path string) { listen(t, path) },
		"a socket of a dead session":  func(t *testing.T, path string) { stale(t, path) },
		"a symlink to its own":        func(t *testing.T, path string) { symlink(t, "moved", path) },
	} {
		t.Run(name, func(t *testing.T) {
			path, s := serve(t, &session{})
			must(t, os.Rename(path, beside(path, "moved")))
			replace(t, path)
			must(t, s.Close())
			if !exists(path) {
				t.Error("it was removed")
			}
		})
	}
	t.Run("nothing, in a directory that is gone", func(t *testing.T) {
		path, s := serve(t, &session{})
		must(t, os.RemoveAll(filepath.Dir(path)))
		must(t, s.Close())
		if exists(filepath.Dir(path)) {
			t.Error("the directory was made again")
		}
	})
}

func TestCloseLetsACommandAnswer(t *testing.T) {
	begun, ended := make(chan struct{}), false
	path, s := serve(t, &session{hold: func(ctx context.Context) { close(begun); <-ctx.Done(); ended = true }})
	sent := make(chan error, 1)
	go func() {
		_, err := controlsocket.Client{Path: path}.Send(context.Background(), controlsocket.Message{Text: "hi"})
		sent <- err
	}()
	<-begun
	must(t, s.Close())
	if !ended { // no lock: Close returns after the command
		t.Error("the command is still under way")
	}
	must(t, <-sent)
}

func TestCloseDoesNotWaitForWhoDoesNotRead(t *testing.T) {
	big := &controlsocket.LastMessage{Content: strings.Repeat("x", 900_000)} // more than a socket buffers
	for name, held := range map[string]bool{
		"an answer that is being written":       false,
		"an answer that comes behind the close": true,
	} {
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(folder(t), gid)
			s, begun := &session{last: big}, make(chan struct{}, 5)
			server, err := controlsocket.ServeWith(t.Context(), path, s, controlsocket.Limits{First: time.Hour, Patience: time.Hour, Farewell: time.Millisecond})
			must(t, err)
			conn := connect(t, path)
			if held {
				s.hold = func(ctx context.Context) {
					begun <- struct{}{}
					<-ctx.Done()
					dribble(conn) // until the server reads no more
				}
			}
			_, err = conn.Write([]byte(strings.Repeat(`{"type":"get_message"}`+"\n", 5)))
			must(t, err)
			if held {
				<-begun
			} else {
				_, err = conn.Read(make([]byte, 1))
				must(t, err)
			}
			must(t, server.Close())
		})
	}
}

// The end of the context that began a server does not end it.
func TestListenOutlivesItsContext(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := controlsocket.Listen(ctx, path, &session{})
	must(t, err)
	defer s.Close()
	cancel()
	must(t, peertest.Abort(t.Context(), path))
}

func TestAServerThatWasKilledLeavesADeadSocket(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	stale(t, path)
	_, err := controlsocket.Client{Path: path}.Send(t.Context(), controlsocket.Message{Text: "hi"})
	if notSent, is := errors.AsType[*controlsocket.NotSentError](err); !is || !notSent.Gone() || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
}
