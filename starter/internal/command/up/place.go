package up

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// startLock is the file in the runs directory that one start of an engine at a time locks.
const startLock = "up.lock"

// startNotice is how long a start waits for another one before it says so.
const startNotice = 200 * time.Millisecond

// lockStart makes the runs directory, and waits until no other start of an engine there is in progress. The second of two
// starts then finds the engine of the first. The lock ends with release, which may be called again, or with the process.
func lockStart(ctx context.Context, c *factory.Factory) (release func(), err error) {
	runs, err := rundir.Open(ctx, c.RunsDir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(runs.Dir(), startLock)
	soon, cancel := context.WithTimeout(ctx, startNotice)
	defer cancel()
	unlock, err := file.Lock(soon, path)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		fmt.Fprintf(c.Err, "starter: another `starter up` is starting on %s: waiting for it\n", display.Line(c.RunsDir))
		unlock, err = file.Lock(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(unlock), nil
}

// reportRunning says that an engine of this user serves the runs directory already. It returns false if none does.
func reportRunning(ctx context.Context, c *factory.Factory, db string) (bool, error) {
	f, err := temporalclient.Knock(ctx, c.RunsDir)
	if err != nil {
		return false, nil // there is none, or one that does not answer: the start says why it fails
	}
	if wanted, err := filepath.Abs(db); err != nil || f.DB != "" && filepath.Clean(f.DB) != wanted {
		return true, fmt.Errorf("an engine with another database, %s, serves %s: stop it first, process %d", f.DB, f.RunsDir, f.PID)
	}
	if c.JSON {
		return true, c.PrintJSON(struct {
			engine.File
			Already bool `json:"already"`
		}{f, true})
	}
	since := ""
	if info, err := os.Stat(filepath.Join(c.RunsDir, engine.FileName)); err == nil {
		since = " since " + info.ModTime().Local().Format(time.DateTime)
	}
	c.Printf("already up%s, process %d: engine %s, runs in %s\n", since, f.PID, f.Address, f.RunsDir)
	if f.UI != "" {
		c.Printf("review page and Web UI: `%s` and `%s` print links that open them\n", c.Hint("page"), c.Hint("ui"))
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
