package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/file"
)

const (
	commandName = "temporal"
	// leastServer is the oldest server that the command may bring: the one that runs were tried on.
	leastServer = "1.32.0"

	commandLock = 5 * time.Second // a command that was killed may be about to end
	commandPoll = 50 * time.Millisecond
	commandFile = "temporal.db"
	serverFile  = "server"
)

// commandVersion matches what temporal --version prints.
var commandVersion = regexp.MustCompile(`(?m)^temporal version (\S+) \(Server (\d+\.\d+\.\d+)[^ ,)]*[,)]`)

// findCommand returns the temporal command on PATH. The error is exec.ErrNotFound where there is none.
func findCommand(ctx context.Context) (Choice, error) {
	const remedy = "install https://docs.temporal.io/cli, or let `starter up --engine own` build ours"
	path, err := exec.LookPath(commandName)
	if err != nil {
		return Choice{}, fmt.Errorf("no %s command: %w; %s", commandName, err, remedy)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Choice{}, err
	}
	out, err := askProgram(ctx, path, "--version")
	match := commandVersion.FindSubmatch(out)
	if match == nil {
		return Choice{}, fmt.Errorf("%s is not Temporal's command: --version printed %.60q (%v); %s", path, out, err, remedy)
	}
	c := Choice{Program: path, Name: commandName, Version: string(match[1]), Server: string(match[2])}
	if compareVersions(c.Server, leastServer) < 0 {
		return Choice{}, fmt.Errorf("%s %s is too old: it brings Temporal server %s, and %s is needed: upgrade it, or let `starter up --engine own` build ours",
			path, c.Version, c.Server, leastServer)
	}
	return c, nil
}

// compareVersions compares versions of three numbers.
func compareVersions(a, b string) int { return slices.Compare(splitVersion(a), splitVersion(b)) }

func splitVersion(version string) (n []int) {
	for part := range strings.SplitSeq(version, ".") {
		i, _ := strconv.Atoi(part)
		n = append(n, i)
	}
	return n
}

// commandDir returns the directory of the command's database for a database of ours. It is private:
// the command makes its files for everybody to read.
func commandDir(db string) string { return db + ".temporal" }

// launchCommand starts `temporal server start-dev`. The caller has to wait for its answer.
func launchCommand(ctx context.Context, c Choice, o Options) (*Engine, error) {
	db, err := filepath.Abs(o.DB)
	if err != nil {
		return nil, err
	}
	dir := commandDir(db)
	if err := makePrivate(dir); err != nil {
		return nil, err
	}
	if err := errors.Join(refuseLinks(db), refuseLinks(filepath.Join(dir, commandFile))); err != nil {
		return nil, err
	}
	lock, err := lockCommand(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := admitServer(dir, c.Server); err != nil {
		return nil, err
	}
	port, err := freePort(o.Port)
	if err != nil {
		return nil, err
	}
	e := &Engine{DB: filepath.Join(dir, commandFile), Command: c.Name + " " + c.Version, Server: c.Server, open: true, log: o.Log}
	if e.log == "" {
		e.log = db + ".log"
	}
	log, err := openLog(e.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	e.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	e.child, err = spawnKept(log, dir, lock, c.Program, commandArguments(port, o.Attributes)...)
	return e, err
}

// commandArguments are what makes a development server serve one user: on loopback alone, without its
// Web UI, which answers to any name that a web page gives it, and with the HTTP interface closed for the
// same reason; with the polls, the queries, the cancels and the journal of our own engine. The name of the file is
// relative to its directory, because SQLite gives some characters of a path a meaning.
func commandArguments(port int, attributes map[string]string) []string {
	args := []string{"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--db-filename", commandFile, "--log-level", "warn",
		"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"}
	for _, setting := range []string{
		"history.transferProcessorMaxPollRPS=2000", "history.timerProcessorMaxPollRPS=2000", "history.visibilityProcessorMaxPollRPS=2000",
		"history.outboundProcessorMaxPollRPS=2000", "history.MaxBufferedQueryCount=100", "frontend.WorkerCommandsEnabled=true", "system.enableCancelActivityWorkerCommand=true",
		"frontend.WorkflowPauseEnabled=true", "frontend.enableServerVersionCheck=false", `frontend.httpAllowedHosts=["none.invalid"]`,
	} {
		args = append(args, "--dynamic-config-value", setting)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		args = append(args, "--search-attribute", name+"="+attributes[name])
	}
	return args
}

// makePrivate makes a directory that this user alone can read, or demands that it is one.
func makePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := file.Trust{Dir: true, Closed: 0o077}.OpenOwn(dir)
	if err != nil {
		return fmt.Errorf("%w; remove it, or name another file with --db", err)
	}
	return d.Close()
}

// lockCommand locks the database of a command, which holds the lock for as long as it runs.
func lockCommand(ctx context.Context, path string) (*os.File, error) {
	inUse := fmt.Errorf("the database in %s is in use by another engine: stop that one, or name another file with --db", filepath.Dir(path))
	ctx, cancel := context.WithTimeoutCause(ctx, commandLock, inUse)
	defer cancel()
	return lockFile(ctx, path, func() {})
}

// admitServer refuses a database that another minor version of the server, or a newer one, wrote: the
// command migrates nothing. It notes the server that writes from here on.
func admitServer(dir, server string) error {
	path := filepath.Join(dir, serverFile)
	b, err := os.ReadFile(path)
	wrote := strings.TrimSpace(string(b))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case wrote == "": // a disk was full at the first start; without a database nothing is lost
		if _, err := os.Lstat(filepath.Join(dir, commandFile)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the database in %s was written by Temporal server of a version that %s does not say: write the version there, or begin a new one with --db and bring the open runs back with `starter resume`", dir, path)
		}
	case !slices.Equal(splitVersion(wrote)[:min(2, len(splitVersion(wrote)))], splitVersion(server)[:2]), compareVersions(wrote, server) > 0:
		return fmt.Errorf("the database in %s was written by Temporal server %.20s and the %s command brings %s, which does not migrate it: "+
			"use the command that wrote it, or begin a new one with --db and bring the open runs back with `starter resume`", dir, wrote, commandName, server)
	}
	return file.Replace(path, []byte(server+"\n"))
}

// freePort returns the port, if it is free, or any free one for 0.
func freePort(port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return 0, fmt.Errorf("port %d of the frontend is taken: name another with --port, or 0 for a free one", port)
	}
	if err != nil {
		return 0, fmt.Errorf("port %d of the frontend: %w", port, err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// lastLine returns the last line of a log, at most 300 bytes of it.
func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	b = bytes.TrimSpace(b)
	line := b[bytes.LastIndexByte(b, '\n')+1:]
	return string(line[:min(len(line), 300)])
}
