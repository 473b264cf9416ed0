package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// dataPrefix before a name makes it a name that no agent follows.
const dataPrefix = "data-"

// renameInstructions renames all files and directories below dir that agents follow, or load, for their names. So the
// patch that is judged does not instruct its judge: an agent loads an AGENTS.md, or a skill, before it reads the task,
// and no option of every client forbids that. The agent can still read the files, and none of them is missing to it. A
// second call finishes one that was cut off. It leaves git's own directory alone, and follows no link.
func renameInstructions(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if patch.FollowedByAgents(name) {
			if name, err = freeName(dir, name); err != nil {
				return err
			}
			if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		if e.IsDir() && name != ".git" {
			if err := renameInstructions(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// freeName returns a name for data that nothing in dir has yet. It ends, because no name can be longer than the file
// system allows.
func freeName(dir, name string) (string, error) {
	for {
		name = dataPrefix + name
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
}
