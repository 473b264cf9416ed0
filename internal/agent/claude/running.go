package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

var _ agent.Prober = (*adapter)(nil)

// registryEntry is the file in which a running client describes itself:
// <config>/sessions/<pid>.json (seen with 2.1.329; not documented). A client that
// was killed leaves its entry behind.
type registryEntry struct {
	PID     int    `json:"pid"`
	Session string `json:"sessionId"`
	// Start tells the process from a later one with the same number: on Linux it is
	// field 22 of the process's stat.
	Start string `json:"procStart"`
	// Domain says where the number counts: linux:<machine id>:<pid namespace>.
	Domain string `json:"pidDomain"`
}

// Running implements agent.Prober by the entries that running clients keep.
func (a *adapter) Running(id string) (bool, error) {
	dir := filepath.Join(configDir(a.clientEnviron(agent.Options{})), "sessions")
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("no Claude Code in %s: %w", dir, agent.ErrNoList)
	}
	if err != nil {
		return false, err
	}
	var doubt error
	for _, name := range names {
		if filepath.Ext(name.Name()) != ".json" {
			continue
		}
		held, err := holdsSession(filepath.Join(dir, name.Name()), id)
		if held {
			return true, nil
		}
		if err != nil {
			doubt = err
		}
	}
	return false, doubt
}

// maxRegistryEntry bounds the size of an entry.
const maxRegistryEntry = 64 << 10

// holdsSession reports whether the client of the entry runs and has the session.
func holdsSession(path, id string) (bool, error) {
	b, err := file.Read(path, maxRegistryEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // the client has just ended
	}
	var c registryEntry
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err == nil && (!process.Plausible(c.PID) || c.Session == "") {
		err = errors.New("it names no process or no session")
	}
	if err != nil {
		return false, fmt.Errorf("the entry %s cannot be read: %w", path, err)
	}
	if c.Session != id {
		return false, nil
	}
	if here := pidDomain(); here != "" && c.Domain != "" && c.Domain != here {
		return false, fmt.Errorf("a process of another machine or container has, or had, the session (%s)", path)
	}
	return !process.Gone(c.PID) && !process.Replaced(c.PID, "linux:"+c.Start), nil
}

// pidDomain returns the domain that an entry of this process would have; it is
// empty if that cannot be determined.
func pidDomain() string {
	machine, err := os.ReadFile("/etc/machine-id")
	space := process.Space()
	if err != nil || space == "" {
		return ""
	}
	return "linux:" + strings.TrimSpace(string(machine)) + ":" + space
}
