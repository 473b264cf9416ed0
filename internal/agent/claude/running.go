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
	"github.com/ratchet-dev/ratchet/internal/citizen/file"
	"github.com/ratchet-dev/ratchet/internal/citizen/process"
)

var _ agent.Prober = (*adapter)(nil)

// registered is what a client says of itself while it runs, in
// <config>/sessions/<pid>.json (seen with 2.1.329; not documented). One that was
// killed leaves its entry behind.
type registryEntry struct {
	PID     int    `json:"pid"`
	Session string `json:"sessionId"`
	// Start tells the process from a later one of that number: on Linux field 22
	// of its stat.
	Start string `json:"procStart"`
	// Domain is where the number counts: linux:<machine id>:<pid namespace>.
	Domain string `json:"pidDomain"`
}

// Running implements agent.Prober by the list that the clients keep of
// themselves.
func (a *adapter) Running(id string) (bool, error) {
	dir := filepath.Join(configDir(a.clientEnviron(agent.Options{})), "sessions")
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("no Claude Code that lists its sessions in %s has run yet", dir)
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

// maxRegistered bounds an entry.
const maxRegistryEntry = 64 << 10

// holds says whether the client of that entry runs and has the session.
func holdsSession(path, id string) (bool, error) {
	b, err := file.Read(path, maxRegistryEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it has just ended
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
		return false, fmt.Errorf("the session is held, or was, by a process of another machine or container (%s)", path)
	}
	return !process.Gone(c.PID) && !process.Replaced(c.PID, "linux:"+c.Start), nil
}

// domain is what an entry of this process would have; empty where that cannot
// be learned.
func pidDomain() string {
	machine, err := os.ReadFile("/etc/machine-id")
	space := process.Space()
	if err != nil || space == "" {
		return ""
	}
	return "linux:" + strings.TrimSpace(string(machine)) + ":" + space
}
