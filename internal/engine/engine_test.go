package engine_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

const patience = 5 * time.Minute

// start starts an engine. A port that it is to have again may be another test's for a moment.
func start(t *testing.T, o engine.Options) (e *engine.Engine) {
	t.Helper()
	o.Progress = func(line string) { t.Log(line) }
	var err error
	eventually.Holds(t, "the ports are free", func() bool {
		e, err = engine.Start(t.Context(), o)
		return err == nil || !strings.Contains(err.Error(), "is taken")
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Stop(t.Context()) }) // the context has ended: the engine is killed
	return e
}

func newDB(t *testing.T) string { return filepath.Join(t.TempDir(), "engine.db") }

// running counts a process that has ended and that nobody has waited for as not running.
func running(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(state, "Z")
	}
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestStartedEngineAnswers(t *testing.T) {
	t.Parallel()
	e := temporaltest.Shared(t).Engine

	var settings struct {
		Auth                    struct{ Enabled bool }
		DefaultNamespace        string
		DisableWriteActions     bool
		WorkflowSignalDisabled  bool
		NotifyOnNewVersion      bool
		HideWorkflowQueryErrors bool
	}
	if err := json.Unmarshal([]byte(ask(t, e, http.MethodGet, "/api/v1/settings", http.StatusOK)), &settings); err != nil {
		t.Fatal(err)
	}
	if settings.DefaultNamespace != "default" {
		t.Errorf("namespace of the Web UI is %q", settings.DefaultNamespace)
	}
	if settings.Auth.Enabled || settings.DisableWriteActions || settings.WorkflowSignalDisabled {
		t.Errorf("the Web UI does not let one send signals: %+v", settings)
	}
	if settings.NotifyOnNewVersion {
		t.Error("the Web UI asks the network for new versions")
	}
	if host, _, _ := net.SplitHostPort(e.Address); host != "127.0.0.1" {
		t.Errorf("address is %s", e.Address)
	}
	if err := e.Err(); err != nil {
		t.Errorf("a running engine has error %v", err)
	}
}

func TestStopEndsTheEngine(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	for range 2 {
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-e.Done()
	if running(e.PID) {
		t.Error("the process is still there")
	}
	if err := e.Err(); err != nil {
		t.Errorf("stopped engine has error %v", err)
	}
}

func TestEngineThatDiesIsNoticed(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	if err := syscall.Kill(e.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-e.Done()
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("error is %v", err)
	}
}

func TestEngineDiesWithItsParent(t *testing.T) {
	t.Parallel()
	if _, err := engine.Program(t.Context(), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentVariable+"="+newDB(t))
	cmd.Stderr = os.Stderr
	f := startParent(t, cmd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually.Holds(t, "the engine has ended", func() bool {
		c, err := net.Dial("tcp", f.Address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil && !running(f.PID)
	})
	// The lock is free again at once.
	start(t, engine.Options{DB: f.DB})
}

// startParent starts a parent and returns what it says of its engine.
func startParent(t *testing.T, cmd *exec.Cmd) (f engine.File) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEngineKilledDuringItsFirstStart(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	program, err := engine.Program(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	for after := 20 * time.Millisecond; after < 400*time.Millisecond; after *= 2 {
		t.Run(after.String(), func(t *testing.T) {
			db := newDB(t)
			first := exec.Command(program, "--db", db)
			first.Env = append(os.Environ(), "RATCHET_ENGINE_TOKEN=any")
			stdin, err := first.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			killing := time.AfterFunc(after, func() { _ = first.Process.Kill() })
			defer killing.Stop()
			_ = first.Wait()
			dial(t, start(t, engine.Options{DB: db}))
		})
	}
}

func TestSecondEngineOnADatabaseIsRefused(t *testing.T) {
	t.Parallel()
	first := temporaltest.Shared(t).Engine
	_, err := engine.Start(t.Context(), engine.Options{DB: first.DB})
	refused(t, err, "another engine (process "+strconv.Itoa(first.PID))
	if err := first.Err(); err != nil {
		t.Errorf("the first engine suffered: %v", err)
	}
}

func TestTakenPortIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, tt := range []struct {
		name string
		o    engine.Options
		flag string
	}{
		{"port of the frontend", engine.Options{Port: port}, "--port"},
		{"port of the Web UI", engine.Options{UIPort: port}, "--ui-port"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.DB = newDB(t)
			_, err := engine.Start(t.Context(), tt.o)
			refused(t, err, strconv.Itoa(port), "taken", tt.flag)
		})
	}
}

func TestGivenPortsAreUsed(t *testing.T) {
	t.Parallel()
	first := start(t, engine.Options{DB: newDB(t)})
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := start(t, engine.Options{DB: first.DB, Port: portOf(t, first.Address), UIPort: portOf(t, first.API)})
	if again.Address != first.Address || again.API != first.API {
		t.Errorf("ports were %s and %s, are %s and %s", first.Address, first.API, again.Address, again.API)
	}
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	port, err := strconv.Atoi(address[strings.LastIndex(address, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestDatabaseOfAnotherWriterIsRefused(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	const good = `"schema": "0.11", "visibility": "0.1"`
	for _, tt := range []struct {
		name    string
		version string // empty: no file
		say     string // empty: accepted
	}{
		{"no version file", "", "this engine did not make"},
		{"newer server", `{"server": "1.99.0", ` + good + `, "complete": true}`, "Temporal server 1.99.0"},
		{"other schema", `{"server": "1.32.1", "schema": "0.10", "visibility": "0.1", "complete": true}`, "schema 0.10"},
		{"version file that is torn", `{"server": "1.`, "version"},
		{"version that is none", `{"server": "latest", ` + good + `, "complete": true}`, "latest"},
		{"older server with the same schema", `{"server": "1.31.0", ` + good + `, "complete": true}`, ""},
		{"first start that was killed", `{"server": "1.32.1", ` + good + `, "complete": false}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.RemoveAll(e.DB + ".version"); err != nil {
				t.Fatal(err)
			}
			if tt.version != "" {
				if err := os.WriteFile(e.DB+".version", []byte(tt.version), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.say == "" {
				start(t, engine.Options{DB: e.DB})
				return
			}
			_, err := engine.Start(t.Context(), engine.Options{DB: e.DB})
			refused(t, err, e.DB, tt.say)
		})
	}
}

func TestDatabasePathWithOddCharacters(t *testing.T) {
	db := filepath.Join(t.TempDir(), "50% of what? a #1 place", "engine.db")
	start(t, engine.Options{DB: db})
	if _, err := os.Stat(db); err != nil {
		t.Error(err)
	}
}

func TestNoDatabaseIsRefused(t *testing.T) {
	_, err := engine.Start(t.Context(), engine.Options{})
	refused(t, err, "no database file")
}

// refused demands an error of one line that says all of it.
func refused(t *testing.T, err error, say ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %v", err)
	}
	for _, s := range say {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}

func TestTheEngineOfAnotherReleaseIsRefused(t *testing.T) {
	program, err := engine.Program(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	db := newDB(t)
	cmd := exec.Command(program, "--db", db)
	cmd.Env = append(os.Environ(), "RATCHET_ENGINE_TOKEN=any", "RATCHET_ENGINE_RELEASE=1.2.0")
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), "has version devel, but the starter has 1.2.0: install both from one archive") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(db); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it touched the database: %v", err)
	}
	out, err = exec.Command(program, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "ratchet-engine devel") || !strings.Contains(string(out), ", Temporal server 1.") {
		t.Errorf("%v: %s", err, out)
	}
}
