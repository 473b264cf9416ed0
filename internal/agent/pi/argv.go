package pi

import (
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// readTools are the only tools of a read-only session.
var readTools = []string{"read", "grep", "find", "ls"}

// piArgs returns pi's arguments (CLIENT.md, 1). They hold no message:
// messages go over the wire, where none is taken for a flag or a file
// (docs/contracts/dispatch.md, 10).
//
// The flag --session-id takes the id as it is, and searches only the working
// directory's sessions. --session would also accept the beginning of an id, and
// would ask on standard output whether to copy another project's session. For an
// unknown id, --session-id makes a new session: checkState detects that.
func (t Trust) piArgs(o agent.Options, f lentFiles) []string {
	argv := append([]string{"--mode", "rpc"}, t.trustFlags()...)
	if needsGate(o) {
		argv = append(argv, "--extension", f.gatePath())
	}
	if o.Resume != "" {
		argv = append(argv, "--session-id", o.Resume)
	}
	if model := o.Choice().Model; model != "" {
		argv = append(argv, "--model", model)
	}
	if o.System != "" { // pi would read a file with that name
		argv = append(argv, "--append-system-prompt", f.systemPath())
	}
	if o.Sandbox == agent.ReadOnly {
		argv = append(argv, "--tools", strings.Join(readTools, ","))
	}
	if len(o.NoTools) > 0 {
		argv = append(argv, "--exclude-tools", strings.Join(o.NoTools, ","))
	}
	return argv
}

func (t Trust) trustFlags() []string {
	switch t {
	case TrustUser:
		return nil
	case TrustProject:
		return []string{"--approve"}
	default:
		return []string{"--no-approve", "--no-extensions", "--no-skills", "--no-prompt-templates"}
	}
}

// findProgram returns the absolute path of the program, and its leading arguments.
// The error names every place that was searched.
func (a *adapter) findProgram() ([]string, error) {
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
