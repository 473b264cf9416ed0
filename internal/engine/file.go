package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// FileName is the name of the file in the runs directory that says how to reach the engine.
const FileName = "engine.json"

const maxFile = 1 << 20

// File is the content of engine.json.
type File struct {
	Address string `json:"address"`        // host:port of the frontend
	API     string `json:"api"`            // URL of the HTTP API and the Web UI; see KeyFile
	UI      string `json:"ui,omitempty"`   // URL under which browsers find the Web UI; empty: no page is served
	RunsDir string `json:"runsDir"`        // absolute path of the runs directory
	PID     int    `json:"pid"`            // process id of the engine
	UpPID   int    `json:"upPid"`          // process id of the starter up that has engine and worker
	UpKey   string `json:"upKey"`          // of that process: see process.StartKey
	DB      string `json:"db"`             // absolute path of the database file
	Open    bool   `json:"open,omitempty"` // the frontend has no TLS and admits every caller
	// Sandbox is the sandbox policy of the worker beside the engine. NoBox says why that worker has no
	// box although its policy requires one, and what helps.
	Sandbox string `json:"sandbox,omitempty"`
	NoBox   string `json:"noBox,omitempty"`
	// Notify holds the channels by which that worker notifies people about runs.
	Notify []run.Channel `json:"notify,omitempty"`
}

// ErrNotOurs reports an engine.json, or a runs directory, that another user may have written. Nothing in it is
// believed.
var ErrNotOurs = file.ErrNotOurs

// WriteFile puts engine.json into runsDir, which must exist: see WriteOwn.
func WriteFile(runsDir string, f File) error { return WriteOwn(runsDir, FileName, f) }

// ReadFile reads engine.json of runsDir: see ReadOwn. A file without an address is refused.
func ReadFile(runsDir string) (File, error) {
	var f File
	err := ReadOwn(runsDir, FileName, &f)
	if err == nil && f.Address == "" {
		err = fmt.Errorf("read %s: no address in it", filepath.Join(runsDir, FileName))
	}
	if err != nil {
		return File{}, err
	}
	return f, nil
}

// WriteOwn puts a JSON object into a file of runsDir, for this user alone. A reader sees the old content or the new,
// never a part.
func WriteOwn(runsDir, name string, content any) error {
	b, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return file.Replace(filepath.Join(runsDir, name), append(b, '\n'))
}

// ReadOwn reads a file that WriteOwn has written. The error is fs.ErrNotExist for a missing file. It is ErrNotOurs for a
// file that is a link, that belongs to another user, or that others can read or write, and for a directory that others
// can write.
func ReadOwn(runsDir, name string, content any) error {
	if err := file.CheckDir(runsDir); err != nil {
		return err
	}
	path := filepath.Join(runsDir, name)
	r, err := file.Trust{Closed: 0o077}.OpenOwn(path)
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxFile))
	if err == nil {
		err = json.Unmarshal(b, content)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
