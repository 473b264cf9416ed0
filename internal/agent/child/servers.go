package child

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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

func serverError(name string, err error) error {
	return &failure.Error{Code: failure.BadRequest, Message: fmt.Sprintf("MCP server %s: %v", name, err)}
}

// serverFiles returns the files and directories that the programs of the servers consist of.
func serverFiles(servers map[string]setup.Server, path string) []string {
	var files []string
	for _, s := range servers {
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
