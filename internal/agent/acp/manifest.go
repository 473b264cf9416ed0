package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// introduction is an agent's greeting, or the wait for it.
type introduction struct {
	file string        // fingerprint of the program
	done chan struct{} // closed when the rest is there
	greeting
	err error
}

// introductionTime bounds the greeting for a manifest, which goes on when the
// manifest is no longer waited for.
const introductionTime = 30 * time.Second

// Manifest implements agent.Adapter. It greets the agent and opens no session:
// an agent keeps every session that was opened, and takes seconds for it. Modes
// and models are those of the last session that was started. An agent that
// needs longer than ctx lasts is known to a later manifest.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	ctx, cancel := context.WithTimeout(ctx, agent.ManifestTimeout)
	defer cancel()
	path, err := a.find()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return a.missing(err)
	}
	i := a.introduction(a.fingerprint(path))
	select {
	case <-i.done:
	case <-ctx.Done():
		return a.missing(fmt.Errorf("%s has not introduced itself yet", path))
	}
	if i.err != nil {
		return a.missing(i.err)
	}
	return a.describe(i.greeting, path)
}

// introduction is the one of that program. A failure is not kept.
func (a *adapter) introduction(file string) *introduction {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.met != nil && a.met.file == file && !a.met.failed() {
		return a.met
	}
	i := &introduction{file: file, done: make(chan struct{})}
	a.met = i
	go func() {
		defer close(i.done)
		ctx, cancel := context.WithTimeout(context.Background(), introductionTime)
		defer cancel()
		i.greeting, i.err = a.meet(ctx)
	}()
	return i
}

func (i *introduction) failed() bool {
	select {
	case <-i.done:
		return i.err != nil
	default:
		return false
	}
}

// meet greets an agent and ends it.
func (a *adapter) meet(ctx context.Context) (greeting, error) {
	s, err := a.spawn(ctx, agent.Options{Dir: os.TempDir(), Sandbox: agent.ReadOnly})
	if err != nil {
		return greeting{}, err
	}
	still := context.AfterFunc(ctx, s.child.End)
	defer still()
	g, err := s.greet(ctx)
	return g, s.abandon(err)
}

func (a *adapter) missing(err error) agent.Manifest {
	label := "ACP"
	if len(a.Argv) > 0 {
		label = filepath.Base(a.Argv[0])
	}
	return agent.MissingManifest(agent.ACP, label, err.Error())
}

// find is the agent's program, or an error that names every place looked at.
func (a *adapter) find() (string, error) {
	if len(a.Argv) == 0 || a.Argv[0] == "" {
		return "", errors.New("no program is configured")
	}
	return child.FindProgram(a.Argv[0], child.ParseEnviron(a.environ(agent.Options{}))["PATH"])
}

// fingerprint changes when the program does, or a file that it is given to run.
func (a *adapter) fingerprint(path string) string {
	var print strings.Builder
	for _, file := range append([]string{path}, a.Argv[1:]...) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&print, "%s %d %s\n", file, info.Size(), info.ModTime())
		}
	}
	return print.String()
}

func (a *adapter) describe(g greeting, path string) agent.Manifest {
	h := habitsOf(g.Info.Name)
	m := agent.Manifest{
		Kind: agent.ACP, Label: cmp.Or(g.Info.Title, g.name()), Installed: true, Binary: path, Version: g.Info.Version,
		Status: agent.Supported, Models: []agent.Model{}, Modes: []agent.Mode{},
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: h.forSession, Resume: g.resumes() != "", Interrupt: true, Cost: h.cost,
			ContextUsage: "none", Sandbox: "soft",
		},
	}
	if h.context {
		m.Capabilities.ContextUsage = "native"
	}
	if h.short != "" {
		m.Status, m.StatusReason = agent.Degraded, h.short
	}
	a.choices(&m)
	return m
}

// choices adds what the last session offered.
func (a *adapter) choices(m *agent.Manifest) {
	a.mu.Lock()
	modes, models := a.offer.modes(), a.offer.models()
	a.mu.Unlock()
	for _, i := range modes.items {
		m.Modes = append(m.Modes, agent.Mode{Code: i.code(), Label: i.Name, Description: i.Description, Default: i.code() == modes.current})
	}
	for _, i := range models.items {
		m.Models = append(m.Models, agent.Model{Code: i.code(), Label: i.Name, Description: i.Description, Default: i.code() == models.current})
		m.ModelsSource = "runtime"
	}
}
