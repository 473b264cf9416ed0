package codex_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

const modelList = `{"data":[` +
	`{"id":"a","model":"gpt-a","displayName":"A","description":"the best","isDefault":true},` +
	`{"id":"b","model":"gpt-b","displayName":"B","description":"the rest","isDefault":false}],"nextCursor":null}`

// listing plays app-servers that tell their models, and counts them.
func listing(t *testing.T, plays *atomic.Int32) codex.Config {
	return serve(t, func(p *peer) {
		plays.Add(1)
		p.answer(p.expect("initialize"), `{}`)
		p.expect("initialized")
		p.answer(p.expect("model/list"), modelList)
		p.rest()
	})
}

func TestTheManifestOfAClient(t *testing.T) {
	var plays atomic.Int32
	c := listing(t, &plays)
	a := codex.New(c)
	m := a.Manifest(t.Context())
	if !m.Installed || m.Status != agent.Supported || m.StatusReason != "" || m.Binary != c.Binary || m.Version != "0.169.0" || m.ModelsSource != "runtime" {
		t.Errorf("manifest %+v", m)
	}
	want := []agent.Model{{Code: "gpt-a", Label: "A", Description: "the best", Default: true}, {Code: "gpt-b", Label: "B", Description: "the rest"}}
	if !reflect.DeepEqual(m.Models, want) {
		t.Errorf("models %+v", m.Models)
	}
	defaults := 0
	for _, mode := range m.Modes {
		if mode.Default {
			defaults++
		}
	}
	if len(m.Modes) != 3 || defaults != 1 {
		t.Errorf("modes %+v", m.Modes)
	}
	if again := a.Manifest(t.Context()); !reflect.DeepEqual(again, m) || plays.Load() != 1 {
		t.Errorf("asked %d times, and then %+v", plays.Load(), again)
	}
}

func TestAnotherProgramIsAskedAgain(t *testing.T) {
	var plays atomic.Int32
	c := listing(t, &plays)
	link := filepath.Join(t.TempDir(), "codex")
	if err := os.Link(c.Binary, link); err != nil {
		t.Skip("no hard links from here to there: ", err)
	}
	c.Binary = link
	a := codex.New(c)
	info, err := os.Stat(link)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Chtimes(link, time.Time{}, info.ModTime())
	a.Manifest(t.Context())
	if err := os.Chtimes(link, time.Time{}, info.ModTime().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if a.Manifest(t.Context()); plays.Load() != 2 {
		t.Errorf("asked %d times", plays.Load())
	}
}

func TestTheManifestOfAClientThatFallsShort(t *testing.T) {
	deaths := filepath.Join(t.TempDir(), "deaths")
	for name, tt := range map[string]struct {
		environ []string
		die     string
		says    string
		models  int
	}{
		"no sandbox": {environ: []string{"CODEX_TEST_NOBOX=bwrap: no namespaces"}, says: "bwrap: no namespaces", models: 2},
		"no models":  {environ: []string{dieVariable + "=" + deaths}, die: "1 Error: no such home\n", says: "Error: no such home"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, deaths, tt.die)
			var plays atomic.Int32
			c := listing(t, &plays)
			c.Environ = append(c.Environ, tt.environ...)
			a := codex.New(c)
			m := a.Manifest(t.Context())
			if !m.Installed || m.Status != agent.Degraded || !strings.Contains(m.StatusReason, tt.says) || len(m.Models) != tt.models {
				t.Errorf("manifest %+v", m)
			}
			before := plays.Load()
			if a.Manifest(t.Context()); plays.Load() == before {
				t.Error("not asked again")
			}
		})
	}
}

func TestTheManifestOfNoClient(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "codex"), "no program")
	silent := filepath.Join(dir, "silent")
	if err := proctest.WriteProgram(silent, "#!/bin/sh\nexit 3\n"); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		c    codex.Config
		says []string
	}{
		"none on PATH": {
			codex.Config{Environ: []string{"PATH=" + dir + ":relative:/nowhere"}}, []string{"no program codex in " + dir + ", /nowhere"},
		},
		"no PATH":                 {codex.Config{}, []string{"PATH has no"}},
		"none at the path":        {codex.Config{Binary: filepath.Join(dir, "none")}, []string{filepath.Join(dir, "none")}},
		"one without a version":   {codex.Config{Binary: silent}, []string{silent, "exit code 3"}},
		"one of that name":        {codex.Config{Binary: "silent", Environ: []string{"PATH=" + dir}}, []string{silent, "exit code 3"}},
		"a file that is no codex": {codex.Config{Binary: filepath.Join(dir, "codex")}, []string{"not an executable program"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := codex.New(tt.c).Manifest(t.Context())
			if m.Kind != setup.Codex || m.Installed || m.Status != agent.Unsupported || len(m.Models)+len(m.Modes) > 0 {
				t.Errorf("manifest %+v", m)
			}
			for _, what := range tt.says {
				if !strings.Contains(m.Unavailable, what) {
					t.Errorf("unavailable because %q, without %s", m.Unavailable, what)
				}
			}
		})
	}
}

func TestTheManifestOfAClientThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(p *peer) {
		p.expect("initialize")
		cancel()
		p.rest()
	})
	if m := codex.New(c).Manifest(ctx); m.Kind != setup.Codex || m.Status == agent.Supported {
		t.Errorf("manifest %+v", m)
	}
}
