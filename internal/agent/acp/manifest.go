package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// introduction is the greeting of an agent, which may still be on its way.
type introduction struct {
	file string        // fingerprint of the program
	done chan struct{} // closed when greeting and err are set
	greeting
	err error
}

// introductionLimit bounds the wait for a greeting. It continues when the manifest
// is no longer waited for.
const introductionLimit = 30 * time.Second

// Greeting says how an agent is asked what it is, before any session: its program may be the repository's. The zero
// Greeting asks none.
type Greeting struct {
	Box *box.Box // around the program
	// Unboxed starts the program without a box where there is none.
	Unboxed bool
}

func (g Greeting) admitted() bool { return g.Box != nil || g.Unboxed }

// Manifest implements agent.Adapter. It greets the agent and opens no session,
// because an agent keeps every session that was opened, and takes seconds to open
// it. Modes and models come from the last session that was started. An agent that
// needs longer than ctx lasts is known to a later manifest.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	ctx, cancel := context.WithTimeout(ctx, agent.ManifestTimeout)
	defer cancel()
	path, err := a.findProgram()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return a.missingManifest(err)
	}
	if !a.Greeting.admitted() {
		return a.unaskedManifest(path)
	}
	i := a.introduceAgent(a.programState(path))
	select {
	case <-i.done:
	case <-ctx.Done():
		return a.missingManifest(fmt.Errorf("%s did not answer in time", path))
	}
	if i.err != nil {
		return a.missingManifest(i.err)
	}
	return a.newManifest(i.greeting, path)
}

// introduceAgent returns the introduction of that program, and begins one if
// there is none. A failed introduction is not kept.
func (a *adapter) introduceAgent(file string) *introduction {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lastIntroduction != nil && a.lastIntroduction.file == file && !a.lastIntroduction.hasFailed() {
		return a.lastIntroduction
	}
	i := &introduction{file: file, done: make(chan struct{})}
	a.lastIntroduction = i
	go func() {
		defer close(i.done)
		ctx, cancel := context.WithTimeout(context.Background(), introductionLimit)
		defer cancel()
		i.greeting, i.err = a.fetchGreeting(ctx)
	}()
	return i
}

func (i *introduction) hasFailed() bool {
	select {
	case <-i.done:
		return i.err != nil
	default:
		return false
	}
}

// fetchGreeting greets an agent and ends it. It works in an empty directory of its own: in a shared one another user
// could leave settings that it loads.
func (a *adapter) fetchGreeting(ctx context.Context) (greeting, error) {
	dir, err := os.MkdirTemp("", "ratchet-greeting-") // mode 0700
	if err != nil {
		return greeting{}, err
	}
	defer os.RemoveAll(dir)
	o := agent.Options{Dir: dir, Sandbox: agent.ReadOnly}
	in, err := a.encloseGreeting(o)
	if err != nil {
		return greeting{}, err
	}
	s, err := a.spawnAgent(ctx, in, o)
	if err != nil {
		return greeting{}, err
	}
	still := context.AfterFunc(ctx, s.child.End)
	defer still()
	g, err := s.sendInitialize(ctx)
	return g, s.abandonStart(err)
}

func (a *adapter) missingManifest(err error) agent.Manifest {
	label := "ACP"
	if len(a.Argv) > 0 {
		label = filepath.Base(a.Argv[0])
	}
	return agent.MissingManifest(setup.ACP, label, err.Error())
}

// unaskedManifest returns the manifest of an agent whose program is known alone.
func (a *adapter) unaskedManifest(path string) agent.Manifest {
	m := agent.MissingManifest(setup.ACP, filepath.Base(path), "")
	m.Installed, m.Binary, m.Status = true, path, agent.Degraded
	m.StatusReason = "its version and abilities are unknown: it is started only in the sandbox, which is not available"
	m.Capabilities.Sandbox = "soft"
	return m
}

// findProgram returns the agent's program, or an error that names every place
// that was searched.
func (a *adapter) findProgram() (string, error) {
	if len(a.Argv) == 0 || a.Argv[0] == "" {
		return "", errors.New("no program is configured")
	}
	return child.FindProgram(a.Argv[0], child.ParseEnviron(a.agentEnviron(agent.Options{}))["PATH"])
}

// programState returns a string that changes when the program or a file changes
// that its arguments name.
func (a *adapter) programState(path string) string {
	var print strings.Builder
	for _, file := range append([]string{path}, a.Argv[1:]...) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&print, "%s %d %s\n", file, info.Size(), info.ModTime())
		}
	}
	return print.String()
}

func (a *adapter) newManifest(g greeting, path string) agent.Manifest {
	h := habitsOf(g.Info.Name)
	m := agent.Manifest{
		Kind: setup.ACP, Label: cmp.Or(g.Info.Title, g.agentName()), Installed: true, Binary: path, Version: g.Info.Version,
		Status: agent.Supported, Models: []agent.Model{}, Modes: []agent.Mode{},
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: h.forSession, Resume: g.resumeMethod() != "", Interrupt: true, Cost: h.cost,
			ContextUsage: "none", Sandbox: "soft", Options: slices.Clone(setup.ACP.Traits().Options),
		},
	}
	if !g.Capabilities.Session.Dirs {
		m.Capabilities.Options = slices.DeleteFunc(m.Capabilities.Options, func(n setup.Option) bool { return n == setup.DirsOption })
	}
	if h.context {
		m.Capabilities.ContextUsage = "native"
	}
	if h.short != "" {
		m.Status, m.StatusReason = agent.Degraded, h.short
	}
	a.addChoices(&m)
	return m
}

// addChoices adds the modes and models that the last session offered.
func (a *adapter) addChoices(m *agent.Manifest) {
	a.mu.Lock()
	modes, models := a.offer.modeMenu(), a.offer.modelMenu()
	a.mu.Unlock()
	for _, i := range modes.items {
		m.Modes = append(m.Modes, agent.Mode{Code: i.itemCode(), Label: i.Name, Description: i.Description, Default: i.itemCode() == modes.current})
	}
	for _, i := range models.items {
		m.Models = append(m.Models, agent.Model{Code: i.itemCode(), Label: i.Name, Description: i.Description, Default: i.itemCode() == models.current})
		m.ModelsSource = "runtime"
	}
}
