package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// namesDir holds a file for each name of a run of this host: slug-14 holds the id of run slug#14. A number
// stays taken by it when the engine's database is new or an older copy.
const namesDir = "names"

// KeepName notes the name of a run in an existing runs directory. It returns fs.ErrExist if another run has
// the name there, and fs.ErrNotExist if there is no such directory.
func KeepName(dir string, name run.Name, id run.ID) error {
	if err := name.Validate(); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, namesDir), 0o700); err != nil {
		return err
	}
	err := file.Create(nameFile(dir, name), []byte(id+"\n"))
	if other, ok := RunNamed(dir, name); errors.Is(err, fs.ErrExist) && ok && other == id {
		return nil
	}
	return err
}

// RunNamed returns the run of this host that has the name. An empty dir is none.
func RunNamed(dir string, name run.Name) (run.ID, bool) {
	b, err := file.Read(nameFile(dir, name), 100)
	id := run.ID(strings.TrimSpace(string(b)))
	return id, dir != "" && err == nil && id.Validate() == nil
}

// NamesOf returns the names under the label that were noted for a run. It reads all names of the label.
func NamesOf(dir, label string, id run.ID) (found []run.Name) {
	entries, _ := file.Names(filepath.Join(dir, namesDir)) // a missing directory has no entries
	for _, entry := range entries {
		text, ok := strings.CutPrefix(entry, label+"-")
		number, isNumber := run.ParseNumber(text)
		if !ok || !isNumber {
			continue
		}
		name := run.NewName(label, number)
		if other, kept := RunNamed(dir, name); kept && other == id {
			found = append(found, name)
		}
	}
	return found
}

// NamesNumbered returns the names of runs of this host that have the number, under any label.
func NamesNumbered(dir string, number int) (found []run.Name) {
	entries, _ := file.Names(filepath.Join(dir, namesDir)) // a missing directory has no entries
	for _, entry := range entries {
		label, ok := strings.CutSuffix(entry, fmt.Sprintf("-%d", number))
		name := run.NewName(label, number)
		if _, kept := RunNamed(dir, name); ok && name.Validate() == nil && kept {
			found = append(found, name)
		}
	}
	return found
}

// LastNumber returns the highest number that a run of this host has under the label; zero if none has any.
func LastNumber(dir, label string) (last int) {
	names, err := file.Names(filepath.Join(dir, namesDir))
	if err != nil {
		return 0
	}
	for _, entry := range names {
		if number, ok := strings.CutPrefix(entry, label+"-"); ok {
			n, _ := run.ParseNumber(number)
			last = max(last, n)
		}
	}
	return last
}

func nameFile(dir string, name run.Name) string {
	return filepath.Join(dir, namesDir, strings.ReplaceAll(string(name), "#", "-"))
}
