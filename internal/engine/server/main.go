// Program ratchet-engine is Temporal's server with an SQLite file and its Web UI, on the loopback
// interface only.
//
// It writes one line of JSON, a report, to standard output when it answers or when it cannot. It
// ends at the end of its standard input, and on an interrupt or a termination signal. It therefore
// never outlives the process that holds the other end.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// report is the one line on standard output: Address, API and PID, or Error.
type report struct {
	Address string `json:"address,omitempty"`
	API     string `json:"api,omitempty"` // URL of the HTTP API and the Web UI
	PID     int    `json:"pid,omitempty"`
	Error   string `json:"error,omitempty"`
}

type settings struct {
	db     string
	port   int
	uiPort int
	level  string
	open   bool
	key    string
}

// stopTimeout bounds a graceful stop. The database survives a kill at any point, so nothing is lost after it.
const stopTimeout = 3 * time.Second

func main() {
	err := closeToOthers()
	var s settings
	flag.StringVar(&s.db, "db", "", "SQLite `file` that holds the state")
	flag.IntVar(&s.port, "port", 0, "loopback port of the frontend; 0: a free one")
	flag.IntVar(&s.uiPort, "ui-port", 0, "loopback port of the HTTP API and the Web UI; 0: a free one")
	flag.StringVar(&s.key, "key", "", "PEM `file` with the certificate of the engine and its clients, and the key")
	flag.StringVar(&s.level, "log-level", "warn", "lowest log `level` on standard error: debug, info, warn, error")
	flag.BoolVar(&s.open, "open", false, "admit every caller of the frontend: all users and programs of this machine")
	showVersion := flag.Bool("version", false, "print the versions of this program and of Temporal's server, and exit")
	asJSON := flag.Bool("json", false, "with -version: print one JSON object")
	flag.Parse()
	if *showVersion {
		if err := readAbout().print(os.Stdout, *asJSON); err != nil {
			os.Exit(1)
		}
		return
	}
	syscall.Umask(0o077) // histories are private to their owner

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	// The output of the libraries belongs in the log, not between the lines of this program.
	out := os.Stdout
	os.Stdout = os.Stderr
	if err == nil {
		err = run(ctx, s, json.NewEncoder(out))
	}
	if err != nil {
		_ = json.NewEncoder(out).Encode(report{Error: err.Error()})
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out *json.Encoder) error {
	if err := checkRelease(); err != nil {
		return err
	}
	key, err := loadKey(s.key)
	if err != nil {
		return fmt.Errorf("key of the engine: %w", err)
	}
	db, err := openDatabase(ctx, s.db)
	if err != nil {
		return err
	}
	defer db.lock.Close()
	srv, err := newServer(s, key, db.sql)
	if err != nil {
		return err
	}
	if err := srv.start(ctx); err != nil {
		return err
	}
	if err := out.Encode(report{Address: srv.address, API: srv.ui.url(), PID: os.Getpid()}); err != nil {
		return err
	}
	<-ctx.Done()
	time.AfterFunc(stopTimeout, func() { os.Exit(0) })
	return srv.stop()
}
