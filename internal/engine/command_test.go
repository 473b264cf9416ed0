package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/eventually"
	"github.com/ratchet-dev/ratchet/internal/need"
	"github.com/ratchet-dev/ratchet/internal/proc/proctest"
)

// newest is what the stand-in says of itself unless a test makes it say something else.
const newest = "temporal version 1.9.1 (Server 1.32.1, UI 2.55.0)"

// putCommand puts the test binary on PATH as the temporal command. Beside it lie what it says of its
// version, and what it notes of its start: it gets none of our variables.
func putCommand(t *testing.T, version string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := errors.Join(os.Symlink(os.Args[0], filepath.Join(dir, "temporal")), os.WriteFile(filepath.Join(dir, "version"), []byte(version+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv(engine.ProgramVariable, "")
	return dir
}

// fakeService is a server with one namespace.
type fakeService struct {
	workflowservice.UnimplementedWorkflowServiceServer
	notes string
}

func (f fakeService) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (f fakeService) UpdateNamespace(_ context.Context, r *workflowservice.UpdateNamespaceRequest) (*workflowservice.UpdateNamespaceResponse, error) {
	kept := r.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration().String()
	return &workflowservice.UpdateNamespaceResponse{}, os.WriteFile(f.notes+"retention", []byte(kept), 0o600)
}

// commandMain is the temporal command.
func commandMain() int {
	notes := filepath.Dir(os.Args[0]) + string(filepath.Separator)
	if os.Args[1] == "--version" {
		b, _ := os.ReadFile(notes + "version")
		fmt.Printf("%s", b)
		return 0
	}
	_ = os.WriteFile(notes+"arguments", []byte(strings.Join(os.Args[1:], "\n")), 0o600)
	_ = os.WriteFile(notes+"environment", []byte(strings.Join(os.Environ(), "\n")), 0o600)
	if why, err := os.ReadFile(notes + "fails"); err == nil {
		fmt.Fprintf(os.Stderr, "warning\n%s\n", why)
		return 1
	}
	flags := flag.NewFlagSet("start-dev", flag.ExitOnError)
	ip, port, db := flags.String("ip", "", ""), flags.String("port", "", ""), flags.String("db-filename", "", "")
	headless := flags.Bool("headless", false, "")
	for _, name := range []string{"log-level", "sqlite-pragma", "dynamic-config-value", "search-attribute"} {
		flags.Var(ignored{}, name, "")
	}
	if err := flags.Parse(os.Args[3:]); err != nil || !*headless {
		return 2
	}
	if err := os.WriteFile(*db, []byte("state"), 0o666); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := net.Listen("tcp", net.JoinHostPort(*ip, *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(s, fakeService{notes: notes})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		_ = os.WriteFile(notes+"ended", nil, 0o600)
		s.Stop()
	})
	_ = s.Serve(l)
	<-ctx.Done()
	return 0
}

type ignored struct{}

func (ignored) String() string   { return "" }
func (ignored) Set(string) error { return nil }

func startCommand(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Stop(t.Context()) })
	return e
}

func TestTheCommandServes(t *testing.T) {
	notes := putCommand(t, newest)
	t.Setenv("ANTHROPIC_API_KEY", "canary")
	t.Setenv("TEMPORAL_ADDRESS", "canary")
	db := newDB(t)
	e := startCommand(t, engine.Options{Use: engine.Command, DB: db, Attributes: map[string]string{"RatchetStatus": "Keyword"}})
	if e.Command != "temporal 1.9.1" || e.Server != "1.32.1" || e.UI != "" || e.Bearer() != "" || e.PID == 0 {
		t.Errorf("engine is %+v", e)
	}
	if host, _, _ := net.SplitHostPort(e.Address); host != "127.0.0.1" {
		t.Errorf("address is %s", e.Address)
	}
	note := func(name string) string {
		b, err := os.ReadFile(filepath.Join(notes, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	arguments := strings.Split(note("arguments"), "\n")
	for _, want := range []string{"--headless", "RatchetStatus=Keyword", `frontend.httpAllowedHosts=["none.invalid"]`, "journal_mode=wal", "history.MaxBufferedQueryCount=100"} {
		if !slices.Contains(arguments, want) {
			t.Errorf("arguments %q without %s", arguments, want)
		}
	}
	if strings.Contains(note("environment"), "canary") || !strings.Contains(note("environment"), "HOME="+db+".temporal") {
		t.Errorf("environment is %s", note("environment"))
	}
	if got := note("retention"); got != "720h0m0s" {
		t.Errorf("ended workflows are kept for %s", got)
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(e.DB): 0o700, e.DB: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	if err := e.Stop(t.Context()); err != nil || e.Err() != nil {
		t.Errorf("stop: %v, %v", err, e.Err())
	}
	note("ended") // it was asked, not killed
	if running(e.PID) {
		t.Error("the command still runs")
	}
	again := startCommand(t, engine.Options{Use: engine.Command, DB: db})
	if again.DB != e.DB {
		t.Errorf("databases are %s and %s", e.DB, again.DB)
	}
}

func TestTheCommandDiesWithItsParent(t *testing.T) {
	need.Suite(t, need.CI)
	putCommand(t, newest)
	db := newDB(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentVariable+"="+db, "ENGINE_TEST_PARENT_USE=temporal")
	cmd.Stderr = os.Stderr
	f := startParent(t, cmd)
	if err := engine.CheckOwner(f.Address, f.PID); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually.Holds(t, "nobody of us listens there", func() bool {
		return errors.Is(engine.CheckOwner(f.Address, f.PID), engine.ErrNotOwned) && !running(f.PID)
	})
	startCommand(t, engine.Options{Use: engine.Command, DB: db}) // the lock is free
}

func TestTheCommandThatIsRefused(t *testing.T) {
	need.Suite(t, need.CI)
	for _, tt := range []struct {
		name, version string
		prepare       func(notes, db string) error
		say           []string
	}{
		{"too old", "temporal version 1.1.1 (Server 1.25.1, UI 2.31.2)", nil, []string{"temporal 1.1.1 is too old", "Temporal server 1.25.1", "1.32.0 is needed", "--engine own"}},
		{"another program", "temporal, the cutter of time", nil, []string{"is not Temporal's command", "--engine own"}},
		{"cannot serve", newest, func(notes, _ string) error {
			return os.WriteFile(filepath.Join(notes, "fails"), []byte("Error: the moon is full"), 0o600)
		}, []string{"temporal 1.9.1 ended", "the moon is full", ".log"}},
		{"a database of a newer server", newest, func(_, db string) error { return wroteDB(db, "1.32.9") }, []string{"written by Temporal server 1.32.9", "brings 1.32.1", "starter resume"}},
		{"a database of an older schema", newest, func(_, db string) error { return wroteDB(db, "1.31.0") }, []string{"written by Temporal server 1.31.0"}},
		{"a torn note of the server", newest, func(_, db string) error {
			return errors.Join(wroteDB(db, ""), os.WriteFile(filepath.Join(db+".temporal", "temporal.db"), nil, 0o600))
		}, []string{"written by Temporal server", "does not say"}},
		{"a directory that others read", newest, func(_, db string) error {
			return errors.Join(os.Mkdir(db+".temporal", 0o755), os.Chmod(db+".temporal", 0o755))
		}, []string{"can be read by other users", "--db"}},
		{"a link in its place", newest, func(notes, db string) error { return os.Symlink(notes, db+".temporal") }, []string{"is a link"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			notes, db := putCommand(t, tt.version), newDB(t)
			if tt.prepare != nil {
				if err := tt.prepare(notes, db); err != nil {
					t.Fatal(err)
				}
			}
			_, err := engine.Start(t.Context(), engine.Options{Use: engine.Command, DB: db})
			refused(t, err, tt.say...)
		})
	}
	t.Run("not there", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := engine.Start(t.Context(), engine.Options{Use: engine.Command, DB: newDB(t)})
		refused(t, err, "no temporal command", "--engine own")
	})
	t.Run("a port that is taken", func(t *testing.T) {
		putCommand(t, newest)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, err = engine.Start(t.Context(), engine.Options{Use: engine.Command, DB: newDB(t), Port: l.Addr().(*net.TCPAddr).Port})
		refused(t, err, "is taken", "--port")
	})
	t.Run("a database in use", func(t *testing.T) {
		putCommand(t, newest)
		db := newDB(t)
		startCommand(t, engine.Options{Use: engine.Command, DB: db})
		_, err := engine.Start(t.Context(), engine.Options{Use: engine.Command, DB: db})
		refused(t, err, "in use by another engine", "--db")
	})
}

func wroteDB(db, server string) error {
	dir := db + ".temporal"
	return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "server"), []byte(server), 0o600))
}

func TestWhichProgramIsChosen(t *testing.T) {
	const own, command = "ratchet-engine", "temporal"
	for _, tt := range []struct {
		name     string
		use      engine.Use
		version  string // of the temporal command; empty: it is not there
		built    bool   // an engine of ours
		database bool   // of our engine
		want     string
		note     string
	}{
		{"nothing is there", engine.Auto, "", false, false, own, ""},
		{"only the command", engine.Auto, newest, false, false, command, ""},
		{"only the command, and ours is wanted", engine.Own, newest, false, false, own, ""},
		{"no wish, as by other programs", "", newest, false, false, own, ""},
		{"both", engine.Auto, newest, true, false, own, ""},
		{"both, and the command is wanted", engine.Command, newest, true, false, command, ""},
		{"a database of ours", engine.Auto, newest, false, true, own, ""},
		{"a command that is too old", engine.Auto, "temporal version 1.1.1 (Server 1.25.1, UI 2.31.2)", false, false, own, "too old"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir()) // of an engine of ours
			t.Setenv("HOME", t.TempDir())
			if tt.version == "" {
				t.Setenv("PATH", t.TempDir())
				t.Setenv(engine.ProgramVariable, "")
			} else {
				putCommand(t, tt.version)
			}
			if tt.built {
				script(t, `echo '{"version": "1.2.0", "server": "1.32.1"}'`)
			}
			db := newDB(t)
			if tt.database {
				if err := os.WriteFile(db, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := engine.Choose(t.Context(), tt.use, db)
			if err != nil || got.Name != tt.want || !strings.Contains(got.Note, tt.note) || tt.note == "" && got.Note != "" {
				t.Fatalf("chosen is %+v, %v", got, err)
			}
			if got.Server == "" || (got.Program != "") != (tt.built || tt.want == command) {
				t.Errorf("chosen is %+v", got)
			}
			if _, err := os.Stat(db + ".temporal"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the choice left something: %v", err)
			}
		})
	}
}

func TestWhoOwnsAnAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tt := range []struct {
		name string
		pid  int
		owns bool
	}{
		{"this process", os.Getpid(), true},
		{"a process that has ended", proctest.Ended(t), false},
		{"no process", 0, false},
		{"every process", -1, false},
	} {
		if err := engine.CheckOwner(l.Addr().String(), tt.pid); (err == nil) != tt.owns {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
