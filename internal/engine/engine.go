// Package engine starts Temporal's own server and Web UI as a child process with its state in one SQLite file.
//
// The program is a module of its own in the folder server, so that its hundreds of dependencies weigh on nothing else. It
// is built once with the go command and kept in the user's cache. The child never outlives the process that started it.
package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	readyTimeout = time.Minute
	maxLog       = 8 << 20
)

// Options say what Start runs. DB is required.
type Options struct {
	DB       string            // SQLite file; it and its directory are made when missing
	Port     int               // loopback port of the frontend; 0: a free one
	UIPort   int               // loopback port of the Web UI; 0: a free one
	Log      string            // file that the server logs to, warnings and worse; empty: DB + ".log"
	Token    Token             // what the engine proves itself with; empty: a fresh one
	Progress func(line string) // hears about a build, which takes minutes; nil: nobody does
}

// Engine is a running server. Its methods are safe for concurrent use.
type Engine struct {
	Address string // host:port of the frontend
	UI      string // URL of the Web UI
	PID     int    // process id of the server
	DB      string // absolute path of the database file
	Token   Token  // what its clients recognise it by

	child    *child
	log      string
	stopping atomic.Bool
}

// Start finds the engine's program, builds it when it has to, runs it, and returns when server and Web UI answer. The
// context bounds the start only: a started engine runs until Stop or until this process ends, however that ends. A taken
// port, a database that another engine holds and one that another server version wrote are errors of one line.
func Start(ctx context.Context, o Options) (*Engine, error) {
	if o.DB == "" {
		return nil, errors.New("start the engine: no database file")
	}
	program, err := Program(ctx, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
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

func launch(program string, o Options) (*Engine, error) {
	db, err := filepath.Abs(o.DB)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(db), 0o755); err != nil {
		return nil, err
	}
	e := &Engine{DB: db, Token: cmp.Or(o.Token, NewToken()), log: o.Log}
	if e.log == "" {
		e.log = db + ".log"
	}
	log, err := openLog(e.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	env := append(userless(filepath.Dir(db)), tokenVariable+"="+string(e.Token))
	e.child, err = spawn(log, env, program,
		"--db", db, "--port", strconv.Itoa(o.Port), "--ui-port", strconv.Itoa(o.UIPort))
	return e, err
}

// openLog begins a log anew that has grown large.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		_ = f.Truncate(0)
	}
	return f, nil
}

// await fills in what the program reports, or returns the error that it does.
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
		UI      string `json:"ui"`
		PID     int    `json:"pid"`
		Error   string `json:"error"`
	}
	err := json.Unmarshal(e.child.line(), &report)
	switch {
	case report.Error != "":
		return errors.New(report.Error)
	case err != nil || report.Address == "":
		return e.silent()
	}
	e.Address, e.UI, e.PID = report.Address, report.UI, report.PID
	return nil
}

// silent is the error of a program that did not report.
func (e *Engine) silent() error {
	select {
	case <-e.child.done:
		return e.ended()
	default:
		return fmt.Errorf("%s is not the engine's program: it wrote %.80q", e.child.cmd.Path, e.child.line())
	}
}

// Done is closed when the engine has ended, by Stop or by itself.
func (e *Engine) Done() <-chan struct{} { return e.child.done }

// Err is nil while the engine runs and after Stop; else it says how the engine ended by itself and where its log is.
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
	return fmt.Errorf("the engine ended by itself: %s; its log: %s", e.child.state(), e.log)
}

// Stop ends the engine and returns when it has ended. When the context ends first the engine is killed, which loses
// nothing either. A second call waits as the first does.
func (e *Engine) Stop(ctx context.Context) error {
	e.stopping.Store(true)
	e.child.closeInput()
	select {
	case <-e.child.done:
		return nil
	case <-ctx.Done():
		e.child.kill()
		<-e.child.done
		return fmt.Errorf("stop the engine: %w", context.Cause(ctx))
	}
}
