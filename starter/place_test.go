package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// TestOneEngineIsFoundFromAnyDirectory starts an engine without a word about its place, and looks for it from
// elsewhere.
func TestOneEngineIsFoundFromAnyDirectory(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	here, there := t.TempDir(), t.TempDir()
	t.Chdir(here)
	bringUp(t, filepath.Join(state, "ratchet"))
	if info, err := os.Stat(filepath.Join(state, "ratchet")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	t.Chdir(there)
	if got := starter(t.Context(), "", "list"); got.code != 0 || got.err != "" {
		t.Errorf("list: %+v", got)
	}
	if got := starter(t.Context(), "", "up"); got.code != 0 || !strings.HasPrefix(got.out, "already up since ") || !strings.Contains(got.out, state) || got.err != "" {
		t.Errorf("a second engine: %+v", got)
	}
	var f engine.File
	got := starter(t.Context(), "", "up", "--json")
	if err := json.Unmarshal([]byte(got.out), &f); err != nil || got.code != 0 || f.Address == "" || !strings.Contains(got.out, `"already":true`) {
		t.Errorf("as JSON: %+v, %v", got, err)
	}
	if got := starter(t.Context(), "", "up", "--db", filepath.Join(there, "other.db")); got.code != 1 || !strings.Contains(got.err, "another database") {
		t.Errorf("another database: %+v", got)
	}
}

func TestNoPlaceIsGuessed(t *testing.T) {
	for _, env := range [][]string{nil, {"HOME="}, {"XDG_STATE_HOME=state", "HOME=home"}} {
		var out, errs captured.Output
		c := newFactory(console.Console{Args: []string{"list"}, Out: &out, Err: &errs, Environ: env})
		if code := c.Run(t.Context()); code != exit.Usage || !strings.Contains(errs.String(), "--runs-dir DIR") {
			t.Errorf("%v: code %d, %s", env, code, errs.String())
		}
	}
	c := newFactory(console.Console{Environ: []string{"XDG_STATE_HOME=relative", "HOME=/home/kim"}})
	if got := c.DefaultRunsDir(); got != "/home/kim/.local/state/ratchet" {
		t.Error(got)
	}
}

// TestTwoStartsAtOnce starts two engines on one runs directory at once. One serves, and the other says so.
func TestTwoStartsAtOnce(t *testing.T) {
	need.Suite(t, need.CI)
	if _, err := engine.Program(t.Context(), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	runsDir := filepath.Join(t.TempDir(), "runs")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	type ended struct {
		result
		first bool
	}
	ends := make(chan ended)
	var outs [2]captured.Output
	for i := range outs {
		go func() {
			var errs captured.Output
			c := newFactory(console.Console{
				Args: []string{"up", "--sandbox", "off", "--port", "0", "--ui-port", "0", "--json", "--runs-dir", runsDir},
				In:   strings.NewReader(""), Out: &outs[i], Err: &errs, Environ: os.Environ(), Now: time.Now,
			})
			code := c.Run(ctx)
			ends <- ended{result{code, outs[i].String(), errs.String()}, i == 0}
		}()
	}
	loser := <-ends
	if loser.code != 0 || !strings.Contains(loser.out, `"already":true`) || strings.Contains(loser.err, "in use") {
		t.Errorf("the second start: %+v", loser)
	}
	eventually.Holds(t, "the other serves", func() bool { return strings.Contains(outs[0].String()+outs[1].String(), `"review"`) })
	stop()
	if winner := <-ends; winner.code != 0 || winner.first == loser.first {
		t.Errorf("the first start: %+v", winner)
	}
}

// TestARecordOfAnotherEngineIsNotShown asks a server of the Temporal configuration for a run of which this host has a
// record.
func TestARecordOfAnotherEngineIsNotShown(t *testing.T) {
	const id, secret = "0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77", "words of the other run"
	record := func(dir, text string) {
		logs := filepath.Join(dir, "workflows", id, "logs")
		clitest.Must(t, os.MkdirAll(logs, 0o700))
		clitest.Write(t, filepath.Join(logs, "check.log"), text)
		clitest.Must(t, rundir.KeepName(dir, "shop#1", id))
	}
	here, there := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "there")
	_, ready, _ := upSays(t, there, "--open")
	var f engine.File
	clitest.Must(t, json.Unmarshal([]byte(ready), &f))
	record(here, secret)
	record(there, "words of this run")
	t.Setenv("TEMPORAL_ADDRESS", f.Address)
	for _, command := range []string{"logs", "status", "diff", "events", "show"} {
		got := starter(t.Context(), "", command, "shop#1", "--runs-dir", here)
		if got.code != 1 || strings.Contains(got.out+got.err, secret) || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, "unset TEMPORAL_ADDRESS") {
			t.Errorf("%s: %+v", command, got)
		}
	}
	t.Setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", filepath.Join(there, engine.KeyFile))
	if got := starter(t.Context(), "", "logs", "shop#1", "--runs-dir", here); got.code != 0 || !strings.Contains(got.out, "words of this run") {
		t.Errorf("the engine that `starter env` names: %+v", got)
	}
	t.Setenv("TEMPORAL_ADDRESS", "")
	if got := starter(t.Context(), "", "logs", "shop#1", "--runs-dir", there); got.code != 0 || !strings.Contains(got.out, "words of this run") {
		t.Errorf("the engine of the directory: %+v", got)
	}
}
