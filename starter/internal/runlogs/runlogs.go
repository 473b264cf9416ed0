// Package runlogs reads the logs in a run's directory.
package runlogs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLog is the number of bytes shown from the end of each log.
const maxLog = 64 << 10

// File is one log, or its end.
type File struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // of the whole
	Text  string `json:"text"`
}

func Read(dir string, only []string) ([]File, error) {
	root, err := os.OpenRoot(filepath.Join(dir, "logs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("no logs yet")
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	files := []File{}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		if !ok || !e.Type().IsRegular() {
			continue
		}
		names = append(names, name)
		if len(only) > 0 && only[0] != name {
			continue
		}
		f, err := readTail(root, e.Name())
		if err != nil {
			return nil, err
		}
		f.Name, f.Path = name, filepath.Join(dir, "logs", e.Name())
		files = append(files, f)
	}
	if len(files) == 0 && len(only) > 0 {
		return nil, fmt.Errorf("unknown log %q: want one of %s", only[0], strings.Join(names, ", "))
	}
	return files, nil
}

// readTail reads the last lines of a file, maxLog bytes at most.
func readTail(root *os.Root, name string) (File, error) {
	f, err := root.Open(name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	from := max(0, info.Size()-maxLog)
	b, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, maxLog), maxLog))
	text := string(b)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return File{Bytes: info.Size(), Text: text}, err
}
