// Program starter is Ratchet's command line. It starts runs, follows them, and settles their
// approvals and questions. `starter --help` explains it.
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

	"golang.org/x/term"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/proc/dumpable"

	// The supervisor of the programs that runs start, and the forwarder of those in a box, are this
	// same executable; see the packages' docs.
	_ "github.com/ratchet-dev/ratchet/internal/egress/forwarder"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

func main() {
	// Programs of runs are of the same user, and our environment may hold secrets.
	if err := dumpable.Off(); err != nil {
		fmt.Fprintln(os.Stderr, "starter:", err)
		os.Exit(exitFailed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt is obeyed at once
	c := newCLI(console{
		program: callingCommand(os.Args[0]),
		args:    os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr,
		environ:     os.Environ(),
		now:         time.Now,
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout),
		screen:      isTerminal(os.Stdout),
		width:       func() int { columns, _ := screenSize(os.Stdout); return columns },
		height:      func() int { _, lines := screenSize(os.Stdout); return lines },
		supervised:  func() bool { return proc.Supervised(os.Getpid()) },
	})
	os.Exit(c.run(ctx))
}

// callingCommand returns the command that calls this program again. A program that `go run` has built
// is gone afterwards.
func callingCommand(path string) string {
	if strings.Contains(filepath.ToSlash(path), "/go-build") {
		return "go run ./starter"
	}
	return "starter"
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func screenColumns(f *os.File) int {
	columns, _ := screenSize(f)
	return columns
}

// screenSize returns the size of a terminal; zero: it is not known.
func screenSize(f *os.File) (columns, lines int) {
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}
