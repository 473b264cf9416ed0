package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// FileName is the name of the file in the runs directory that says how the engine is reached.
const FileName = "engine.json"

const maxFile = 64 << 10

// File is the content of engine.json.
type File struct {
	Address string `json:"address"` // host:port of the frontend
	UI      string `json:"ui"`      // URL of the Web UI
	RunsDir string `json:"runsDir"` // absolute path of the runs directory
	PID     int    `json:"pid"`     // process id of the engine
	DB      string `json:"db"`      // absolute path of the database file
}

// WriteFile puts engine.json into runsDir, which must exist. A reader sees the old content or the new, never a part.
func WriteFile(runsDir string, f File) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", FileName, err)
	}
	return replaceFile(filepath.Join(runsDir, FileName), append(b, '\n'))
}

// ReadFile reads engine.json of runsDir. The error of a missing file is fs.ErrNotExist; a file without an address is
// refused.
func ReadFile(runsDir string) (File, error) {
	path := filepath.Join(runsDir, FileName)
	r, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer r.Close()
	var f File
	if err := json.NewDecoder(io.LimitReader(r, maxFile)).Decode(&f); err != nil {
		return File{}, fmt.Errorf("read %s: %w", path, err)
	}
	if f.Address == "" {
		return File{}, fmt.Errorf("read %s: no address in it", path)
	}
	return f, nil
}

func replaceFile(path string, content []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(content); err != nil {
		_ = tmp.Close()
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
