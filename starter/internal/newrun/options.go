package newrun

import (
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/host/sessionruns"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// OptionFlags are the flags that give options to agents and models.
type OptionFlags struct {
	mode        string
	servers     []string
	dirs        []string
	allow, deny []string
	maxOutput   int
	temperature float64
	flags       *pflag.FlagSet
	// Grants lets the flag mcp name the server by which the agent starts runs, and granted says that it does.
	Grants, Granted bool
}

func (f *OptionFlags) Register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.mode, "mode", "", "`mode` of the agent, by its own name, such as plan or acceptEdits; starter doctor --agents --json lists them")
	flags.StringArrayVar(&f.servers, "mcp", nil, "`name=command` of an MCP server that the agent starts, in its sandbox, such as docs='npx -y docs-server'; repeat it for more")
	flags.StringArrayVar(&f.dirs, "add-dir", nil, "`directory` that the agent may read besides its checkout; with :rw behind it also change, past the patch; repeat it for more")
	flags.StringArrayVar(&f.allow, "allow-tool", nil, "`tool` that needs no permission, in the agent's own words, such as 'Bash(go test *)'; repeat it for more")
	flags.StringArrayVar(&f.deny, "deny-tool", nil, "`tool` that the agent may not use; repeat it for more")
	flags.IntVar(&f.maxOutput, "max-output", 0, "most `tokens` of one answer of the model; 0 leaves it to the provider")
	flags.Float64Var(&f.temperature, "temperature", 0, "temperature of the model, `0..2`; default: the provider's")
}

// Read returns the options of the flags. A relative directory counts from the working directory.
func (f *OptionFlags) Read() (setup.Options, error) {
	o := setup.Options{Mode: f.mode, Tools: f.allow, NoTools: f.deny, MaxOutputTokens: f.maxOutput}
	if f.flags != nil && f.flags.Changed("temperature") {
		o.Temperature = &f.temperature
	}
	for _, text := range f.servers {
		if text == sessionruns.ServerName {
			if !f.Grants {
				return o, usage.Errorf("--mcp %s: only a session that a person starts may start runs, by `starter session start`; a run's agents may not", text)
			}
			f.Granted = true
			continue
		}
		name, server, err := setup.ParseServer(text)
		if err != nil {
			return o, usage.Errorf("--mcp: %w", err)
		}
		if _, twice := o.Servers[name]; twice {
			return o, usage.Errorf("--mcp: two servers have the name %s", name)
		}
		if o.Servers == nil {
			o.Servers = map[string]setup.Server{}
		}
		o.Servers[name] = server
	}
	if err := f.readDirs(&o); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, &usage.Error{Err: err}
	}
	return o, nil
}

// readDirs reads the directories. A box shows none by a link, so their real paths count.
func (f OptionFlags) readDirs(o *setup.Options) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, text := range f.dirs {
		dir, write, err := setup.ParseDir(text, here)
		if err != nil {
			return usage.Errorf("--add-dir: %w", err)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if write {
			o.Dirs = append(o.Dirs, dir)
		} else {
			o.ReadDirs = append(o.ReadDirs, dir)
		}
	}
	return nil
}
