package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/captured"
	"github.com/ratchet-dev/ratchet/internal/engine"
)

// TestOneEngineIsFoundFromAnyDirectory starts an engine without a word about its place, and looks for it from
// elsewhere.
func TestOneEngineIsFoundFromAnyDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the engine")
	}
	alone(t)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	here, there := t.TempDir(), t.TempDir()
	t.Chdir(here)
	up(t, filepath.Join(state, "ratchet"))
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
	if err := json.Unmarshal([]byte(got.out), &f); err != nil || got.code != 0 || f.Address == "" || f.Token != "" || !strings.Contains(got.out, `"already":true`) {
		t.Errorf("as JSON: %+v, %v", got, err)
	}
	if got := starter(t.Context(), "", "up", "--db", filepath.Join(there, "other.db")); got.code != 1 || !strings.Contains(got.err, "another database") {
		t.Errorf("another database: %+v", got)
	}

	must(t, os.MkdirAll(filepath.Join(".runs", "workflows", "0198c5e2"), 0o700))
	for _, args := range [][]string{{"list"}, {"up"}} {
		if got := starter(t.Context(), "", args...); got.code != 0 || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, "holds 1 run, which "+state) {
			t.Errorf("runs of an earlier version, %v: %+v", args, got)
		}
	}
	if got := starter(t.Context(), "", "list", "--runs-dir", ".runs"); got.code != exitUnreachable || strings.Contains(got.err, "holds 1 run") {
		t.Errorf("the runs that are named: %+v", got)
	}
	for _, name := range []string{"engine.json", "names", "workspaces"} {
		if _, err := os.Lstat(filepath.Join(".runs", name)); err == nil {
			t.Errorf("%s was written there", name)
		}
	}
}

func TestNoPlaceIsGuessed(t *testing.T) {
	alone(t)
	for _, env := range [][]string{nil, {"HOME="}, {"XDG_STATE_HOME=state", "HOME=home"}} {
		var out, errs captured.Output
		c := newCLI(console{args: []string{"list"}, out: &out, err: &errs, environ: env})
		if code := c.main(t.Context()); code != exitUsage || !strings.Contains(errs.String(), "--runs-dir DIR") {
			t.Errorf("%v: code %d, %s", env, code, errs.String())
		}
	}
	c := newCLI(console{environ: []string{"XDG_STATE_HOME=relative", "HOME=/home/kim"}})
	if got := c.defaultRunsDir(); got != "/home/kim/.local/state/ratchet" {
		t.Error(got)
	}
}

func TestATakenPortIsNotInsistedOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, err := strconv.Atoi(text)
	must(t, err)
	if got := freePort(port, false); got != 0 {
		t.Errorf("the default: %d", got)
	}
	if got := freePort(port, true); got != port {
		t.Errorf("a chosen one: %d", got)
	}
}
