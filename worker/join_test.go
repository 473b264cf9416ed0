package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"

	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// another is a machine with a runs directory and a HOME of its own. Its workers reach the engine of the fixture by the door
// alone.
func (s *fixture) another(name string) *fixture {
	s.t.Helper()
	there := *s
	there.dir = s.t.TempDir()
	there.runsDir, there.home = filepath.Join(there.dir, "runs"), filepath.Join(there.dir, "home")
	for _, dir := range []string{there.runsDir, there.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			s.t.Fatal(err)
		}
	}
	there.queue, there.workers = temporalclient.TaskQueue, &workers{}
	return &there
}

// doneBy returns the names of the hosts whose workers took a task of a run.
func (s *fixture) doneBy(id run.ID) string {
	s.t.Helper()
	seen := map[string]bool{}
	for events := s.client.GetWorkflowHistory(s.t.Context(), id.WorkflowID(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, identity := range []string{e.GetActivityTaskStartedEventAttributes().GetIdentity(), e.GetWorkflowTaskStartedEventAttributes().GetIdentity()} {
			if _, name, ok := strings.Cut(identity, "@"); ok {
				seen[name] = true
			}
		}
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestAnotherMachineJoins has a second machine that shares nothing with the first but the engine, through the door. It
// joins by a code, does a run on a URL whole while no worker of the first machine is there, does another after a restart
// without a code, and takes no step of a run on a directory of the first. Once it is removed, it ends, and does not start.
func TestAnotherMachineJoins(t *testing.T) {
	need.Suite(t, need.CI)
	s := newFixture(t)
	name, listen := "b-"+uuid.NewString()[:8], freeAddress(t)
	door := hosts.Open(s.runsDir, hosts.OfEngine(s.engine), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { door.Stop() })
	secret, err := hosts.Invite(t.Context(), s.runsDir, listen, time.Now())
	if err == nil {
		err = hosts.Await(t.Context(), listen, s.engine.Key)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := s.another(name)
	b.stdin, b.flags = hosts.NewCode(listen, secret, s.engine.Key).String()+"\n", []string{"-join", "-host", name}
	seen := *b // by every user of the machine
	seen.flags = []string{"-join", strings.TrimSpace(b.stdin)}
	refused := seen.launch()
	<-refused.done
	if text := refused.out.String(); refused.cmd.ProcessState.ExitCode() != 2 || !strings.Contains(text, "unexpected argument") {
		t.Errorf("with the code among its arguments the worker ended with %v, %q; want 2", refused.cmd.ProcessState, text)
	}
	const allow = "GIT_ALLOW_PROTOCOL=file"
	o := s.newOrigin()
	runThere := func(first time.Time) {
		t.Helper()
		r := b.follow(newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
		queued := *b
		queued.queue = temporalclient.QueueOf(name)
		r.in.Repository = queued.fetched("mirror-"+uuid.NewString(), o.FileURL())
		if !strings.HasPrefix(r.in.Repository.Path, b.runsDir) {
			t.Errorf("the mirror is at %s, want it below %s", r.in.Repository.Path, b.runsDir)
		}
		wr := queued.start(r.in)
		if !first.IsZero() {
			eventually.Holds(t, "a step begins on the second machine", func() bool { return s.doneBy(r.in.RunID) != "" })
			t.Logf("from the start of the worker with its code to the first step: %v", time.Since(first).Round(10*time.Millisecond))
		}
		if err := wr.Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.doneBy(r.in.RunID); got != name {
			t.Errorf("%s was done by %q, want %s", r.in.RunID, got, name)
		}
		b.verifyRemote(o, r)
		gittest.Run(t, o.Dir, "update-ref", "-d", "refs/heads/"+r.in.RunID.Branch())
	}
	began := time.Now()
	worker := b.spawn(allow)
	runThere(began)

	// The control of the binding: both machines have workers now, and each run stays where its files are.
	s.spawn()
	here := s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")}))
	if err := s.start(here).Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := s.doneBy(here.RunID); got == "" || strings.Contains(got, name) {
		t.Errorf("a run on a directory was done by %q, want the first machine alone", got)
	}

	// The worker needs no code again, and finds the first machine after a restart of that.
	worker.kill()
	b.flags = nil
	door.Stop()
	door = hosts.Open(s.runsDir, hosts.OfEngine(s.engine), slog.New(slog.DiscardHandler))
	if err := hosts.Await(t.Context(), listen, s.engine.Key); err != nil {
		t.Fatal(err)
	}
	worker = b.spawn(allow)
	runThere(time.Time{})

	door.Stop()
	door = hosts.Open(s.runsDir, hosts.OfEngine(s.engine), slog.New(slog.DiscardHandler))
	runThere(time.Time{})

	if err := hosts.Remove(t.Context(), s.runsDir, name); err != nil {
		t.Fatal(err)
	}
	<-worker.done
	if text := worker.out.String(); worker.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text, "removed") {
		t.Errorf("the removed worker ended with %v, %q; want 1, and that it was removed", worker.cmd.ProcessState, text)
	}
	again := b.launch()
	<-again.done
	if text := again.out.String(); again.cmd.ProcessState.ExitCode() == 0 || strings.Contains(text, "serving ") {
		t.Errorf("it started after the removal: %v, %q", again.cmd.ProcessState, text)
	}
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
