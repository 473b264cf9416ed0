package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/file"
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

// ErrNotOurs reports an engine.json, or a runs directory, that another user may have written. Nothing in it is
// believed.
var ErrNotOurs = file.ErrNotOurs

// ErrNotHere reports an engine.json that was not written to this place since the machine started: a copy, what git
// has checked out, or a file of an older version. Nothing in it is believed.
var ErrNotHere = errors.New("is a copy, a checkout, of an older version, or from before the last start of this machine: it is not used")

// origin is what a copy of engine.json does not have in common with it. No commit, archive or other user can know
// it: a file has another inode wherever it is written anew, and the boot has a random id.
type origin struct {
	Boot   string `json:"boot"` // id of the boot; empty where the system has none
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// originOf returns the origin of an opened file. A rename within its file system changes nothing.
func originOf(f *os.File) (origin, error) {
	info, err := f.Stat()
	if err != nil {
		return origin{}, err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return origin{}, fmt.Errorf("%s has no inode", f.Name())
	}
	return origin{Boot: bootID(), Device: uint64(stat.Dev), Inode: stat.Ino}, nil
}

// stored is the content of engine.json.
type stored struct {
	File
	Origin origin `json:"origin"`
}

// WriteFile puts engine.json into runsDir, which must exist. A reader sees the old content or the new, never a part.
// The file holds where it is; see [ErrNotHere].
func WriteFile(runsDir string, f File) (err error) {
	tmp, err := os.CreateTemp(runsDir, "."+FileName+".*") // for this user alone
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, tmp.Close())
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	s := stored{File: f}
	if s.Origin, err = originOf(tmp); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", FileName, err)
	}
	if _, err = tmp.Write(append(b, '\n')); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(runsDir, FileName))
}

// ReadFile reads engine.json of runsDir. The error is fs.ErrNotExist for a missing file. It is
// ErrNotOurs for a file that is a link, that belongs to another user, or that others can read or
// write, and for a directory that others can write. It is ErrNotHere for a copy. A file without an
// address is refused.
func ReadFile(runsDir string) (File, error) {
	if err := file.CheckDir(runsDir); err != nil {
		return File{}, err
	}
	path := filepath.Join(runsDir, FileName)
	r, err := file.Trust{Closed: 0o077}.OpenOwn(path)
	if err != nil {
		return File{}, err
	}
	defer r.Close()
	var s stored
	if err := json.NewDecoder(io.LimitReader(r, maxFile)).Decode(&s); err != nil {
		return File{}, fmt.Errorf("read %s: %w", path, err)
	}
	if here, err := originOf(r); err != nil || s.Origin != here {
		return File{}, cmp.Or(err, fmt.Errorf("%s %w", path, ErrNotHere))
	}
	if s.Address == "" {
		return File{}, fmt.Errorf("read %s: no address in it", path)
	}
	return s.File, nil
}
