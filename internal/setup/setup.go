// Package setup holds what a caller may choose of an agent, in a form that can enter history, and which of
// it reaches the client of each kind of agent. It is pure.
package setup

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Options are what a caller may choose for the sessions of an agent, besides its model, the place of its
// work and its sandbox. They enter the history of workflows and must hold no secret. The zero Options
// leave every choice to the agent.
type Options struct {
	Mode   string   `json:"mode,omitempty"`   // an id of the agent's manifest
	System string   `json:"system,omitempty"` // joins the agent's system prompt
	Dirs   []string `json:"dirs,omitempty"`   // absolute paths of further directories that it may change
	// ReadDirs are absolute paths of further directories that it may only read.
	ReadDirs []string `json:"readDirs,omitempty"`
	Tools    []string `json:"tools,omitempty"`   // tools that need no permission, in the agent's own words
	NoTools  []string `json:"noTools,omitempty"` // forbidden tools
	// Servers are MCP servers by name. The agent starts them, in its own box.
	Servers map[string]Server `json:"servers,omitempty"`
	// MaxOutputTokens bounds one answer of the model; zero leaves the bound to the ladder. See agent.AnswerTokens.
	MaxOutputTokens int `json:"maxOutputTokens,omitempty"`
	// Temperature is the temperature of the model's sampling; nil leaves it to the provider.
	Temperature *float64 `json:"temperature,omitempty"`
	// Env holds variables: NAME=value, or NAME alone for the value that the variable has in the worker.
	Env []string `json:"env,omitempty"`
}

// Server is an MCP server that speaks over its standard input and output.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// Option names one of the Options in messages for a person.
type Option string

// The options, in the order of their members.
const (
	ModeOption        Option = "a mode"
	SystemOption      Option = "a system prompt"
	DirsOption        Option = "further directories"
	ToolsOption       Option = "tools that need no permission"
	NoToolsOption     Option = "forbidden tools"
	ServersOption     Option = "MCP servers"
	OutputOption      Option = "a limit of its answers"
	TemperatureOption Option = "a temperature"
	EnvOption         Option = "variables"
)

// Used returns the options that are chosen.
func (s Options) Used() []Option {
	var used []Option
	for _, o := range []struct {
		used bool
		Option
	}{
		{s.Mode != "", ModeOption}, {s.System != "", SystemOption}, {len(s.Dirs)+len(s.ReadDirs) > 0, DirsOption},
		{len(s.Tools) > 0, ToolsOption}, {len(s.NoTools) > 0, NoToolsOption}, {len(s.Servers) > 0, ServersOption},
		{s.MaxOutputTokens != 0, OutputOption}, {s.Temperature != nil, TemperatureOption}, {len(s.Env) > 0, EnvOption},
	} {
		if o.used {
			used = append(used, o.Option)
		}
	}
	return used
}

// Without returns the options without some of the choices.
func (s Options) Without(choices ...Option) Options {
	for _, o := range choices {
		switch o {
		case ModeOption:
			s.Mode = ""
		case SystemOption:
			s.System = ""
		case DirsOption:
			s.Dirs, s.ReadDirs = nil, nil
		case ToolsOption:
			s.Tools = nil
		case NoToolsOption:
			s.NoTools = nil
		case ServersOption:
			s.Servers = nil
		case OutputOption:
			s.MaxOutputTokens = 0
		case TemperatureOption:
			s.Temperature = nil
		case EnvOption:
			s.Env = nil
		}
	}
	return s
}

// The bounds of the options, which enter history.
const (
	maxSystem  = 16 << 10
	maxEntries = 64 // of each list
	maxEntry   = 4 << 10
)

// serverName is the form of the name of an MCP server that every client takes.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// modeName is the form of the id of a mode.
var modeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/#-]{0,127}$`)

// envName is the form of the name of a variable.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate returns an error if no agent of that kind can be started with the options, because a value is
// malformed or because an option does not reach the agent's client. An option is never ignored.
func (s Options) Validate(kind Kind) error {
	for _, o := range s.Used() {
		if !kind.Supports(o) {
			hint := ""
			if others := ListKinds(func(t Traits) bool { return slices.Contains(t.Options, o) }, "or"); others != "" {
				hint = ", or use " + others
			}
			return fmt.Errorf("%s does not support %s: leave it out%s", kind, o, hint)
		}
	}
	about := kind.Traits()
	if t := s.Temperature; t != nil && about.MaxTemperature > 0 && *t > about.MaxTemperature {
		return fmt.Errorf("a temperature of %v: %s takes 0 to %v", *t, about.Label, about.MaxTemperature)
	}
	return s.Check()
}

// maxTemperature bounds the temperature of every model.
const maxTemperature = 2

// Check returns an error for a malformed value. It asks for no kind of agent; see Validate.
func (s Options) Check() error {
	if s.Mode != "" && !modeName.MatchString(s.Mode) {
		return fmt.Errorf("the mode %q: want one word", s.Mode)
	}
	for _, list := range [][]string{s.Dirs, s.ReadDirs, s.Tools, s.NoTools, s.Env} {
		if err := checkList(list); err != nil {
			return err
		}
	}
	for _, dir := range slices.Concat(s.Dirs, s.ReadDirs) {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("the further directory %q is not absolute", dir)
		}
		if filepath.Clean(dir) != dir {
			return fmt.Errorf("the further directory %q: write it as %s", dir, filepath.Clean(dir))
		}
	}
	for _, tool := range slices.Concat(s.Tools, s.NoTools) {
		if err := CheckTool(tool); err != nil {
			return err
		}
	}
	if t := s.Temperature; t != nil && !(*t >= 0 && *t <= maxTemperature) {
		return fmt.Errorf("the temperature is %v: want 0 to %d", *t, maxTemperature)
	}
	for _, entry := range s.Env {
		if name, _, _ := strings.Cut(entry, "="); !envName.MatchString(name) {
			return fmt.Errorf("the variable %q: want NAME or NAME=value", name)
		}
	}
	if len(s.System) > maxSystem {
		return fmt.Errorf("the system prompt has %d bytes, at most %d fit", len(s.System), maxSystem)
	}
	if s.MaxOutputTokens < 0 {
		return fmt.Errorf("the limit of answers is %d tokens: want a positive number", s.MaxOutputTokens)
	}
	return checkServers(s.Servers)
}

// ForReader returns the options that hold for an agent or a model that only reads: the bounds of the model.
// Its tools are fixed, and nothing further may be given to it.
func (s Options) ForReader() Options {
	return Options{MaxOutputTokens: s.MaxOutputTokens, Temperature: s.Temperature}
}

// IsZero reports whether no option is chosen.
func (s Options) IsZero() bool { return len(s.Used()) == 0 }

func checkList(list []string) error {
	if len(list) > maxEntries {
		return fmt.Errorf("%d entries in one option, at most %d are allowed", len(list), maxEntries)
	}
	for _, entry := range list {
		if entry == "" || len(entry) > maxEntry || strings.ContainsAny(entry, "\x00\n") {
			return fmt.Errorf("the entry %.40q: want one line of 1 to %d bytes", entry, maxEntry)
		}
	}
	return nil
}

func checkServers(servers map[string]Server) error {
	if len(servers) > maxEntries {
		return fmt.Errorf("%d MCP servers, at most %d are allowed", len(servers), maxEntries)
	}
	//workflowcheck:ignore // any one of the faults may be reported
	for name, server := range servers {
		if !serverName.MatchString(name) {
			return fmt.Errorf("the MCP server %q: want a name of letters, digits, '_' and '-'", name)
		}
		if server.Command == "" {
			return fmt.Errorf("the MCP server %s: no program given", name)
		}
		if err := checkList(append([]string{server.Command}, server.Args...)); err != nil {
			return fmt.Errorf("the MCP server %s: %w", name, err)
		}
	}
	return nil
}
