package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// localRunsDir is the name of the runs directory of a demo. Versions up to v0.4 had it in the working directory by
// default.
const localRunsDir = ".runs"

// defaultRunsDir returns the runs directory of a command that names none; see rundir.DefaultDir.
func (c *cli) defaultRunsDir() string { return rundir.DefaultDir(c.getenv) }

// checkRunsDir refuses a command line that leads to no runs directory.
func (c *cli) checkRunsDir() error {
	if c.runsDir == "" {
		return usageErrorf("neither XDG_STATE_HOME nor HOME names a directory: name that of the runs with --runs-dir DIR")
	}
	return nil
}

// noteLocalRuns says in one line that the working directory holds runs of an earlier version, which the default
// runs directory does not have.
func (c *cli) noteLocalRuns() {
	if c.runsDir != c.defaultRunsDir() {
		return
	}
	records, err := os.ReadDir(filepath.Join(localRunsDir, "workflows"))
	if err != nil || len(records) == 0 {
		return
	}
	fmt.Fprintf(c.err, "starter: %s of this directory holds %s, which %s does not have: `starter up --runs-dir %s` serves them, and --runs-dir %[1]s names them to every command\n",
		localRunsDir, plural(len(records), "run", "runs"), display.Line(c.runsDir), localRunsDir)
}

// tellRunning says that an engine of this user serves the runs directory already. It returns false if none does.
func (c *cli) tellRunning(ctx context.Context, db string) (bool, error) {
	door, err := temporalclient.Knock(ctx, c.runsDir, 0)
	if err != nil {
		return false, nil //nolint:nilerr // there is none, or one that does not answer: the start says why it fails
	}
	f := door.Engine
	if wanted, err := filepath.Abs(db); err != nil || f.DB != "" && filepath.Clean(f.DB) != wanted {
		return true, fmt.Errorf("an engine with another database, %s, serves %s: stop it first, process %d", f.DB, f.RunsDir, f.PID)
	}
	if c.json {
		f.Token = ""
		return true, c.printJSON(struct {
			engine.File
			Already bool `json:"already"`
		}{f, true})
	}
	since := ""
	if info, err := os.Stat(filepath.Join(c.runsDir, engine.FileName)); err == nil {
		since = " since " + info.ModTime().Local().Format(time.DateTime)
	}
	c.printf("already up%s, process %d: engine %s, runs in %s\n", since, f.PID, f.Address, f.RunsDir)
	if f.UI != "" {
		c.printf("Web UI %s; `%s` prints a link that opens it\n", f.UI, c.hintCommand("ui"))
	}
	return true, nil
}

// freePort returns the port, or 0 for a usual port that another program has: another user of the machine, for
// instance. Clients find the engine by engine.json.
func freePort(port int, chosen bool) int {
	if chosen || port == 0 {
		return port
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return 0
	}
	_ = l.Close()
	return port
}
