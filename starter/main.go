// Program starter is Ratchet's command line. It starts runs, follows them, and decides their
// approvals, and answers their questions. `starter --help` explains it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/proc/dumpable"

	// The supervisor of the programs that runs start, and the forwarder of those in a box, are this
	// same executable; see the packages' docs.
	_ "github.com/ratchet-dev/ratchet/internal/egress/forwarder"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

func main() {
	// Programs of runs are of the same user, and our environment may hold secrets.
	if err := dumpable.Off(); err != nil {
		fmt.Fprintln(os.Stderr, "starter:", err)
		os.Exit(exit.Failed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt is obeyed at once
	c := newFactory(console.Console{
		Program: callingCommand(os.Args[0]),
		Args:    os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Environ:     os.Environ(),
		Now:         time.Now,
		Interactive: console.IsTerminal(os.Stdin) && console.IsTerminal(os.Stdout),
		Screen:      console.IsTerminal(os.Stdout),
		Width:       func() int { columns, _ := console.ScreenSize(os.Stdout); return columns },
		Height:      func() int { _, lines := console.ScreenSize(os.Stdout); return lines },
		Supervised:  func() bool { return proc.Supervised(os.Getpid()) },
	})
	os.Exit(c.Run(ctx))
}

// callingCommand returns the command that calls this program again. A program that `go run` has built
// is gone afterwards.
func callingCommand(path string) string {
	if strings.Contains(filepath.ToSlash(path), "/go-build") {
		return "go run ./starter"
	}
	return "starter"
}
