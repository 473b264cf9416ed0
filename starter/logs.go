package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// maxLog is the number of bytes shown from the end of each log.
const maxLog = 64 << 10

// logFile is one log, or its end.
type logFile struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // of the whole
	Text  string `json:"text"`
}

func logsCommand(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "logs RUN [NAME]",
		Short: "Print the logs in a run's directory",
		Long: `Prints the logs of the run, or the one that is named: provider-plan,
provider-execute, gatekeeper and so on. Of a long one the end is printed. The
run's directory must be on this host.`,
		Example:           "  starter logs slug#14\n  starter logs slug#14 provider-execute",
		Args:              usage.ArgsBetween(1, 2, "a RUN and perhaps the name of a log"),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.On(c, func(_ context.Context, r runref.Found, args []string) error {
			dir, err := c.OpenRecord(r.ID)
			if err != nil {
				return fmt.Errorf("the directory of run %s is not here (%w): name the worker's with --runs-dir", r.ID, err)
			}
			files, err := readLogs(dir.Path(), args)
			if err != nil {
				return fmt.Errorf("logs of run %s: %w", r.ID, err)
			}
			if c.JSON {
				return c.PrintJSON(struct {
					RunID string    `json:"runId"`
					Dir   string    `json:"dir"`
					Logs  []logFile `json:"logs"`
				}{string(r.ID), dir.Path(), files})
			}
			printLogs(c, files)
			return nil
		}),
	}
}

func readLogs(dir string, only []string) ([]logFile, error) {
	root, err := os.OpenRoot(filepath.Join(dir, "logs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there are none yet")
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	files := []logFile{}
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
		return nil, fmt.Errorf("there is none called %q: there are %s", only[0], strings.Join(names, ", "))
	}
	return files, nil
}

// readTail reads the last lines of a file, maxLog bytes at most.
func readTail(root *os.Root, name string) (logFile, error) {
	f, err := root.Open(name)
	if err != nil {
		return logFile{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return logFile{}, err
	}
	from := max(0, info.Size()-maxLog)
	b, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, maxLog), maxLog))
	text := string(b)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return logFile{Bytes: info.Size(), Text: text}, err
}

func printLogs(c *factory.Factory, files []logFile) {
	s := c.Style()
	for _, f := range files {
		c.Printf("%s %s\n", s.Bold(display.Line(f.Name)), s.Dim(display.Line(f.Path)))
		if left := f.Bytes - int64(len(f.Text)); left > 0 {
			c.Printf("%s\n", s.Dim(fmt.Sprintf("… the first %s are left out", terminal.Bytes(left))))
		}
		c.Printf("%s\n", display.Text([]byte(f.Text)))
	}
}
