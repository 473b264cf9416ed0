package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// FileName is the name of the file in the runs directory that says how to reach the engine.
const FileName = "engine.json"

const maxFile = 64 << 10

// File is the content of engine.json.
type File struct {
	Address string `json:"address"` // host:port of the frontend
	UI      string `json:"ui"`      // URL of the Web UI
	RunsDir string `json:"runsDir"` // absolute path of the runs directory
	PID     int    `json:"pid"`     // process id of the engine
	DB      string `json:"db"`      // absolute path of the database file
	Token   Token  `json:"token,omitempty"`
	// Command is the temporal command, name and version, that serves in the place of our own engine. It
	// admits everybody, and nothing proves it but its process.
	Command string `json:"command,omitempty"`
	// Sandbox is the sandbox policy of the worker beside the engine. NoBox says why that worker has no
	// box although its policy requires one, and what helps.
	Sandbox string `json:"sandbox,omitempty"`
	NoBox   string `json:"noBox,omitempty"`
}

// ErrNotOurs reports a file that another user may have written. Nothing in it is believed.
var ErrNotOurs = errors.New("it is not used")

// WriteFile puts engine.json into runsDir, which must exist. A reader sees the old content or the new, never a part.
func WriteFile(runsDir string, f File) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", FileName, err)
	}
	return replaceFile(filepath.Join(runsDir, FileName), append(b, '\n'))
}

// ReadFile reads engine.json of runsDir. The error is fs.ErrNotExist for a missing file. It is
// ErrNotOurs for a file that is a link, that belongs to another user, or that others can read or
// write. A file without an address is refused.
func ReadFile(runsDir string) (File, error) {
	path := filepath.Join(runsDir, FileName)
	r, err := openOurs(path)
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

// openOurs opens a file of this user that no other user can read or write.
func openOurs(path string) (*os.File, error) {
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a link: %w", path, ErrNotOurs)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %w", err, ErrNotOurs)
	}
	if err != nil {
		return nil, err
	}
	if err := checkOurs(r); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func checkOurs(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() || !known:
		return fmt.Errorf("%s is not a file: %w", f.Name(), ErrNotOurs)
	case int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to you: %w", f.Name(), owner.Uid, ErrNotOurs)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be read or written by other users: %w", f.Name(), ErrNotOurs)
	}
	return nil
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
