// Package engine starts Temporal's own server and Web UI as a child process with its state in one
// SQLite file.
//
// The program is a module of its own in the folder server: its hundreds of dependencies do not
// burden the rest of Ratchet. The program is built once with the go command and kept in the user's
// cache. The child never outlives the process that started it.
package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/version"
)

const (
	readyTimeout = time.Minute
	maxLog       = 8 << 20

	releaseVariable = "RATCHET_ENGINE_RELEASE" // the release that starter and engine have to share; empty: any
)

// Options configure Start. DB is required.
type Options struct {
	DB     string // SQLite file; it and its directory are made when missing
	Port   int    // loopback port of the frontend; 0: a free one
	UIPort int    // loopback port of the HTTP API and the Web UI; 0: a free one
	Log    string // file that the server logs to, warnings and worse; empty: DB + ".log"
	Key    Key    // of the engine and its clients; zero: the one in the directory of DB, made when missing
	Open   bool   // the frontend admits every caller: each user and program of this machine
	// Progress is called with lines about a build, which takes minutes; nil: never.
	Progress func(line string)
	// Live is called several times a second during a build with a line that takes the place of the one before,
	// and with an empty line at the end. Progress then gets only what stays. Nil: Progress gets all.
	Live func(line string)
}

// Engine is a running server. Its methods are safe for concurrent use.
type Engine struct {
	Address string // host:port of the frontend
	API     string // URL of the HTTP API and the Web UI
	PID     int    // process id of the server
	DB      string // absolute path of the database file
	Key     Key    // by which it and its clients know each other
	Open    bool   // the frontend has no TLS and admits every caller

	child    *child
	log      string
	stopping atomic.Bool
}

// Start finds the engine's program, builds it when necessary, runs it, and returns when the server
// and the Web UI answer. The context bounds the start only: a started engine runs until Stop or
// until this process ends in any way. The error has one line for a taken port, for a database that
// another engine holds, and for a database that another server version wrote.
func Start(ctx context.Context, o Options) (*Engine, error) {
	if o.DB == "" {
		return nil, errors.New("start the engine: no database file")
	}
	program, err := findProgram(ctx, o.Progress, o.Live)
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", FullDisk(o.DB, err))
	}
	e, err := launch(program, o)
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", FullDisk(o.DB, err))
	}
	if err := e.await(ctx); err != nil {
		e.child.kill()
		<-e.child.done
		return nil, fmt.Errorf("start the engine: %w", FullDisk(e.DB, err))
	}
	return e, nil
}

// Prepare builds the program that Start would run, where it has to be built. A later Start then needs no build.
// Where nothing is built it calls neither Progress nor Live.
func Prepare(ctx context.Context, o Options) error {
	if _, err := findProgram(ctx, o.Progress, o.Live); err != nil {
		return fmt.Errorf("start the engine: %w", FullDisk(o.DB, err))
	}
	return nil
}

func launch(program string, o Options) (*Engine, error) {
	db, err := filepath.Abs(o.DB)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(db), 0o755); err != nil {
		return nil, err
	}
	if err := refuseLinks(db); err != nil {
		return nil, err
	}
	e := &Engine{DB: db, Key: o.Key, Open: o.Open, log: o.Log}
	if e.Key.Path == "" {
		if e.Key, err = MakeKey(filepath.Dir(db)); err != nil {
			return nil, err
		}
	}
	e.log = cmp.Or(e.log, db+".log")
	log, err := openLog(e.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	env := append(userless(filepath.Dir(db)), releaseVariable+"="+version.Release())
	args := []string{"--db", db, "--key", e.Key.Path, "--port", strconv.Itoa(o.Port), "--ui-port", strconv.Itoa(o.UIPort)}
	if o.Open {
		args = append(args, "--open")
	}
	e.child, err = startGroup(log, env, program, args...)
	return e, err
}

// refuseLinks returns an error if the database, or a file beside it whose name begins as the database's does, is a
// link: SQLite and the engine would write where it leads.
func refuseLinks(db string) error {
	entries, err := os.ReadDir(filepath.Dir(db))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), filepath.Base(db)) && entry.Type()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link, and the engine would write to its target: remove it, or name the file itself with --db",
				filepath.Join(filepath.Dir(db), entry.Name()))
		}
	}
	return nil
}

// openLog opens the log. It truncates a log that has grown large.
func openLog(path string) (*os.File, error) {
	f, err := file.Append(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Size() > maxLog {
		_ = f.Truncate(0)
	}
	return f, nil
}

// await fills in the report of the program, or returns the error in it.
func (e *Engine) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %v; its log: %s", readyTimeout, e.log))
	defer cancel()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.child.done:
	case <-e.child.report:
	}
	var report struct {
		Address string `json:"address"`
		API     string `json:"api"`
		PID     int    `json:"pid"`
		Error   string `json:"error"`
	}
	err := json.Unmarshal(e.child.line(), &report)
	switch {
	case report.Error != "":
		return errors.New(report.Error)
	case err != nil || report.Address == "":
		return e.silentError()
	}
	e.Address, e.API, e.PID = report.Address, report.API, report.PID
	return nil
}

// silentError returns the error of a program that did not report.
func (e *Engine) silentError() error {
	select {
	case <-e.child.done:
		return e.ended()
	default:
		return fmt.Errorf("%s is not the engine's program: it printed %.80q", e.child.cmd.Path, e.child.line())
	}
}

// Done returns a channel that is closed when the engine has ended, by Stop or by itself.
func (e *Engine) Done() <-chan struct{} { return e.child.done }

// Err returns nil while the engine runs and after Stop. Otherwise it says how the engine ended by
// itself and where its log is.
func (e *Engine) Err() error {
	select {
	case <-e.child.done:
	default:
		return nil
	}
	if e.stopping.Load() {
		return nil
	}
	return e.ended()
}

func (e *Engine) ended() error {
	return fmt.Errorf("the engine ended unexpectedly: %s; its log: %s", e.child.state(), e.log)
}

// Stop ends the engine and returns when it has ended. When the context ends first, Stop kills the
// engine, which loses nothing either. A second call waits as the first does.
func (e *Engine) Stop(ctx context.Context) error {
	e.stopping.Store(true)
	_ = e.child.stdin.Close()
	select {
	case <-e.child.done:
		return nil
	case <-ctx.Done():
		e.child.kill()
		<-e.child.done
		return fmt.Errorf("stop the engine: %w", context.Cause(ctx))
	}
}
