// Worker serves the runs of one Temporal server: it takes their workflow tasks and does their
// activities on this machine.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc/dumpable"
	"github.com/ratchet-dev/ratchet/internal/rundir"

	// The supervisor of the programs that runs start, and the forwarder of those in a box, are this
	// same executable; see the packages' docs.
	_ "github.com/ratchet-dev/ratchet/internal/egress/forwarder"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/version"
)

func main() {
	// The programs of runs have the same user as this process, and its environment may hold
	// secrets.
	if err := dumpable.Off(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	c := host.Config{Environ: os.Environ(), Warn: func(err error) { fmt.Fprintln(os.Stderr, "worker:", err) }}
	flag.StringVar(&c.RunsDir, "runs-dir", rundir.DefaultDir(os.Getenv), "`directory` of the runs' records and worktrees")
	flag.StringVar(&c.TaskQueue, "task-queue", temporalclient.TaskQueue, "`name` of the task queue to serve")
	c.AddFlags(flag.CommandLine)
	join := flag.Bool("join", false, "read the code of starter host join on another machine from standard input, and serve its engine, now and without the code later")
	name := flag.String("host", "", "with -join: `name` of this machine there; default: its hostname")
	admit := flag.Bool("admit-hosts", false, "let machines join the server by a code of starter host join, which is run here with the same runs directory")
	showVersion := flag.Bool("version", false, "print the version of this program, and of the engine that starter up would start")
	flag.Parse()
	if flag.NArg() > 0 { // the flags behind it were not read
		fmt.Fprintf(os.Stderr, "worker: unexpected argument %s: the worker takes only flags (does a flag's value need quotes?)\n", display.Line(flag.Arg(0)))
		os.Exit(2)
	}
	if *showVersion {
		printVersion()
		return
	}
	if c.RunsDir == "" {
		fmt.Fprintln(os.Stderr, "worker: neither XDG_STATE_HOME nor HOME is set to a directory: name the runs directory with -runs-dir DIR")
		os.Exit(2)
	}
	code := ""
	if *join {
		var err error
		if code, err = readCode(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(2)
		}
	}
	*name = cmp.Or(*name, host.Name(c.RunsDir))
	if target, _ := temporalclient.Resolve(temporalclient.Options{RunsDir: c.RunsDir}); c.TaskQueue == temporalclient.TaskQueue && (*join || target.Host != "") {
		c.TaskQueue = temporalclient.QueueOf(*name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, c, code, *name, *admit); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "worker:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(codeOf(err))
	}
}

// readCode reads the line with a code. Standard input has it, because all users of this machine can read the arguments of
// a process, and the code lets whoever is first join.
func readCode(in *os.File) (string, error) {
	if term.IsTerminal(int(in.Fd())) {
		fmt.Fprint(os.Stderr, "the code of `starter host join`: ")
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4<<10)).ReadString('\n')
	code := strings.TrimSpace(line)
	if code == "" {
		return "", fmt.Errorf("-join: standard input has no code (%w): paste the line that `starter host join` printed", cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return code, nil
}

// printVersion prints which program this is, and which engine `starter up` would start.
func printVersion() {
	fmt.Println("worker", version.Read())
	chosen, err := engine.Choose(context.Background())
	if err != nil {
		fmt.Println("engine: none:", err)
		return
	}
	fmt.Println("engine:", chosen)
}

// codeOf returns the exit code of an error, with starter's meaning: 6 for an engine that cannot be
// reached.
func codeOf(err error) int {
	if _, ok := errors.AsType[*temporalclient.Unreachable](err); ok {
		return 6
	}
	return 1
}

// serve serves the engine that the environment or the runs directory names, until ctx ends or the home machine takes this
// host no longer. With a code it joins that machine first. If it admits others, they reach the server by it.
func serve(ctx context.Context, c host.Config, code, name string, admit bool) error {
	h, err := host.Open(ctx, c)
	if err != nil {
		return err
	}
	joined, err := h.Join(ctx, code, name)
	if err != nil {
		return err
	}
	if joined != nil && code != "" {
		fmt.Printf("joined as %s: %s\n", joined.Name, joined.Has())
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := temporalclient.Options{RunsDir: c.RunsDir, Logger: log}
	if admit {
		door, err := h.Admit(server)
		if err != nil {
			return err
		}
		defer door.Stop()
	}
	w, err := h.Serve(ctx, server)
	if err != nil {
		return err
	}
	defer w.Stop()
	if w.Metrics != "" {
		fmt.Printf("metrics at http://%s/metrics\n", w.Metrics)
	}
	fmt.Printf("serving task queue %s of %s, namespace %s, runs in %s\n", w.TaskQueue, w.Address, w.Namespace, c.RunsDir)
	if joined != nil {
		return joined.Await(ctx)
	}
	<-ctx.Done()
	return nil
}
