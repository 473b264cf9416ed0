package child

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// FindServers returns the servers with the absolute paths of their programs. Path has the form of PATH. The
// error is a *failure.Error for a program that is not there, and for one that is named by a relative path:
// it would be the repository's.
func FindServers(servers map[string]setup.Server, path string) (map[string]setup.Server, error) {
	found := make(map[string]setup.Server, len(servers))
	for name, s := range servers {
		if strings.Contains(s.Command, "/") && !filepath.IsAbs(s.Command) {
			return nil, serverError(name, fmt.Errorf("%s is a relative path: name a program on PATH, or an absolute path", s.Command))
		}
		program, err := FindProgram(s.Command, path)
		if err != nil {
			return nil, serverError(name, err)
		}
		s.Command, s.Args = program, append([]string{}, s.Args...)
		found[name] = s
	}
	return found, nil
}

// AllServers returns the servers of a session in the form of FindServers, the one of o.Bridge among them.
func (s Sandbox) AllServers(o agent.Options, path string) (map[string]setup.Server, error) {
	found, err := FindServers(o.Servers, path)
	if err != nil || o.Bridge == nil {
		return found, err
	}
	argv, err := s.Box.BridgeCommand(o.Bridge.Socket)
	if err != nil {
		return nil, serverError(o.Bridge.Name, err)
	}
	if _, taken := found[o.Bridge.Name]; taken {
		return nil, serverError(o.Bridge.Name, errors.New("the name is taken by a server of Ratchet: choose another"))
	}
	found[o.Bridge.Name] = setup.Server{Command: argv[0], Args: argv[1:]}
	return found, nil
}

func serverError(name string, err error) error {
	return &failure.Error{Code: failure.BadRequest, Message: fmt.Sprintf("MCP server %s: %v", name, err)}
}

// serverFiles returns the files and directories that the programs of the servers of a session consist of. The box shows
// the program of the bridge by itself.
func serverFiles(o agent.Options, path string) []string {
	var files []string
	for name, s := range o.Servers {
		if o.Bridge != nil && name == o.Bridge.Name {
			continue
		}
		files = append(files, ProgramFiles(slices.Concat([]string{s.Command}, s.Args), path)...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// ServerTables returns the servers in the form that Claude Code and Codex share, by their names.
func ServerTables(servers map[string]setup.Server) map[string]any {
	tables := map[string]any{}
	for name, s := range servers {
		table := map[string]any{"command": s.Command, "args": s.Args}
		if len(s.Env) > 0 {
			table["env"] = s.Env
		}
		tables[name] = table
	}
	return tables
}
