package pi

import (
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// readTools are all that a read-only session has.
var readTools = []string{"read", "grep", "find", "ls"}

// arguments are those of pi (docs/contracts/pi.md, 1). No message is among them: those go
// over the wire, where nothing takes them for a flag or a file (docs/contracts/dispatch.md, 10).
//
// The flag --session-id takes the id as it is, and looks in the working
// directory's sessions alone; --session would take the beginning of an id as
// well, and would ask on standard output whether to copy another project's
// session. Of an id that it does not know the former makes a session: greet
// finds out.
func (t Trust) arguments(o agent.Options, f files) []string {
	argv := append([]string{"--mode", "rpc"}, t.flags()...)
	if gated(o) {
		argv = append(argv, "--extension", f.gate())
	}
	if o.Resume != "" {
		argv = append(argv, "--session-id", o.Resume)
	}
	if model := o.Choice().Model; model != "" {
		argv = append(argv, "--model", model)
	}
	if o.System != "" { // pi would read a file of that name
		argv = append(argv, "--append-system-prompt", f.system())
	}
	if o.Sandbox == agent.ReadOnly {
		argv = append(argv, "--tools", strings.Join(readTools, ","))
	}
	if len(o.NoTools) > 0 {
		argv = append(argv, "--exclude-tools", strings.Join(o.NoTools, ","))
	}
	return argv
}

func (t Trust) flags() []string {
	switch t {
	case TrustUser:
		return nil
	case TrustProject:
		return []string{"--approve"}
	default:
		return []string{"--no-approve", "--no-extensions", "--no-skills", "--no-prompt-templates"}
	}
}

// program is its absolute path, and its leading arguments. The
// error names every place that was looked at.
func (a *adapter) program() ([]string, error) {
	argv := slices.Clone(a.Argv)
	if len(argv) == 0 {
		argv = []string{"pi"}
	}
	path, err := child.FindProgram(argv[0], child.ParseEnviron(a.Environ)["PATH"])
	if err != nil {
		return nil, err
	}
	argv[0] = path
	return argv, nil
}
