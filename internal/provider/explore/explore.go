// Package explore lets a model look around in the files of a run, by tools that list, read and search them
// and change nothing. The results are bounded and labelled as data. Files that may hold secrets stay
// closed: see prompt.Withheld.
package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/prompt"
)

// Files gives access to the files at a run's current commit. It is the part of provider.Site that
// this package uses.
type Files interface {
	Files(ctx context.Context) ([]string, error)
	Read(ctx context.Context, path string, limit int64) (content []byte, size int64, err error)
}

// Bounds of one call.
const (
	MaxResult = 48 << 10 // bytes of a result, without its frame
	MaxFile   = 1 << 20  // bytes of a file, from its beginning
)

// maxScan bounds the bytes that an explorer reads for all its searches.
const maxScan = 256 << 20

// ToolCall is a tool call of a model.
type ToolCall struct {
	ID    string
	Name  string
	Input json.RawMessage // may be anything: a model wrote it
}

// Result answers the call with the same id.
type Result struct {
	ID     string
	Text   string
	Failed bool // Text says why
}

// Explorer answers the calls of one model. It is not safe for concurrent use.
type Explorer struct {
	files Files
	room  int64 // bytes that results may still have
	scan  int64 // bytes that searches may still read

	paths    []string // sorted, without the withheld ones; set once listed
	withheld int
	listed   bool
	spent    bool
}

// New returns an explorer whose results have at most room bytes together.
func New(files Files, room int64) *Explorer {
	return &Explorer{files: files, room: room, scan: maxScan}
}

// Spent reports whether a result found no room. Further calls find none either.
func (e *Explorer) Spent() bool { return e.spent }

// Do answers a call. The result holds errors, for the model to read, and also the end of ctx.
func (e *Explorer) Do(ctx context.Context, c ToolCall) Result {
	text, err := e.callTool(ctx, c)
	if err == nil && int64(len(text)) > e.room {
		e.spent = true
	}
	if e.spent {
		err = errors.New("no room is left for more tool results: answer with what you have")
	}
	if err != nil {
		return Result{ID: c.ID, Text: err.Error(), Failed: true}
	}
	e.room -= int64(len(text))
	return Result{ID: c.ID, Text: text}
}

// callTool calls the tool that c names.
func (e *Explorer) callTool(ctx context.Context, c ToolCall) (string, error) {
	at := slices.IndexFunc(tools, func(t tool) bool { return t.Name == c.Name })
	if at < 0 {
		return "", errors.New("there is no such tool")
	}
	if err := e.listOnce(ctx); err != nil {
		return "", err
	}
	return tools[at].do(e, ctx, c.Input)
}

// listOnce lists the files, once. The run's commit does not change during a call.
func (e *Explorer) listOnce(ctx context.Context) error {
	if e.listed {
		return nil
	}
	all, err := e.files.Files(ctx)
	if err != nil {
		return errors.New("the files cannot be listed")
	}
	for _, p := range all {
		if prompt.Withheld(p) {
			e.withheld++
		} else {
			e.paths = append(e.paths, p)
		}
	}
	slices.Sort(e.paths)
	e.listed = true
	return nil
}

// findFile returns the path of the file that a model names.
func (e *Explorer) findFile(name string) (string, error) {
	name = path.Clean(trimRoot(name))
	if prompt.Withheld(name) {
		return "", fmt.Errorf("%q is withheld: its name suggests that it holds secrets", display.Clip(name, maxName))
	}
	if _, ok := slices.BinarySearch(e.paths, name); !ok {
		return "", fmt.Errorf("there is no file %q", display.Clip(name, maxName))
	}
	return name, nil
}

// pathsUnder returns the files whose paths begin with prefix.
func (e *Explorer) pathsUnder(prefix string) []string {
	if prefix = trimRoot(prefix); prefix == "." {
		prefix = ""
	}
	from, _ := slices.BinarySearch(e.paths, prefix)
	to := from
	for to < len(e.paths) && strings.HasPrefix(e.paths[to], prefix) {
		to++
	}
	return e.paths[from:to]
}
