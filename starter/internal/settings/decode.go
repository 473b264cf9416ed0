package settings

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Value is the value of a setting.
type Value struct {
	Texts []string // as the flag of the name would be given them, one by one
	Path  string   // the file
	Line  int
}

// Values are settings by their names.
type Values map[string]Value

// maxFile bounds the bytes of a file, and maxLines its lines.
const (
	maxFile  = 32 << 10
	maxLines = 2000
	// maxOpen bounds the brackets of a file and the dots of a name.
	maxOpen = 300
)

// lineError is a fault of a file. Its text is one line and holds nothing that a terminal obeys.
type lineError struct {
	path string
	line int // 0: the whole file
	text string
}

func (e *lineError) Error() string {
	at := display.Line(e.path)
	if e.line > 0 {
		at = fmt.Sprintf("%s:%d", at, e.line)
	}
	first, _, _ := strings.Cut(e.text, "\n")
	return at + ": " + display.Line(first)
}

// document is a file of settings.
type document struct {
	path  string
	lines map[string]int // of the first mention of each key, by joinKey
}

// repositoryTable names the table of a user's file whose tables hold the settings for single repositories.
const repositoryTable = "repository"

// decode reads the settings of a file. Only a user's file may have tables: one for each repository, and
// one of notices.
func decode(path string, b []byte, mayName bool) (f File, err error) {
	if err := checkBytes(path, b); err != nil {
		return File{}, err
	}
	var top map[string]any
	if err := toml.Unmarshal(b, &top); err != nil {
		return File{}, fault(path, err)
	}
	d := document{path, linesOf(b)}
	f.Repositories = map[string]Values{}
	if table, ok := top[repositoryTable]; ok && mayName {
		delete(top, repositoryTable)
		if f.Repositories, err = d.readRepositories(table); err != nil {
			return File{}, err
		}
	}
	if table, ok := top[noticeTable]; ok && mayName {
		delete(top, noticeTable)
		if f.Notices, err = d.readNotices(table); err != nil {
			return File{}, err
		}
	}
	f.Values, err = d.readTable("", top, keys)
	return f, err
}

// fault returns the error of the decoder as a line.
func fault(path string, err error) error {
	line := 0
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ = at.Position()
	}
	return &lineError{path, line, strings.TrimPrefix(err.Error(), "toml: ")}
}

// linesOf returns the line of the first mention of each key of a document that the decoder has taken. The decoder reports
// lines of faults only.
func linesOf(b []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(b)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		name := table
		if e.Kind != unstable.KeyValue {
			name = ""
		}
		for part := e.Key(); part.Next(); {
			name = joinKey(name, string(part.Node().Data))
			if lines[name] == 0 {
				lines[name] = p.Shape(part.Node().Raw).Start.Line
			}
		}
		if e.Kind != unstable.KeyValue {
			table = name
		}
	}
	return lines
}

// joinKey returns the name of a key in a table; the table at the top is "". No key holds a byte of zero.
func joinKey(table, key string) string { return table + "\x00" + key }

// checkBytes refuses anything but a text of a few lines.
func checkBytes(path string, b []byte) error {
	lines := bytes.Count(b, []byte("\n"))
	switch {
	case len(b) > maxFile:
		return &lineError{path: path, text: fmt.Sprintf("more than %d bytes: put long checks into a script of the repository", maxFile)}
	case lines > maxLines:
		return &lineError{path: path, text: fmt.Sprintf("more than %d lines: put long checks into a script of the repository", maxLines)}
	}
	open := 0
	for i, line := range bytes.Split(b, []byte("\n")) {
		name, _, _ := bytes.Cut(line, []byte("="))
		open += bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
		switch {
		case !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0:
			return &lineError{path, i + 1, "not UTF-8 text: save the file as UTF-8"}
		case open > maxOpen || bytes.Count(name, []byte(".")) > maxOpen:
			return &lineError{path, i + 1, "nested too deeply: a setting is a word, a number or a list of words"}
		}
	}
	return nil
}

func (d document) readRepositories(v any) (map[string]Values, error) {
	const wanted = "repository needs tables: write [repository.\"/path/of/it\"]"
	top := joinKey("", repositoryTable)
	tables, ok := v.(map[string]any)
	if !ok {
		return nil, &lineError{d.path, d.lines[top], wanted}
	}
	all := map[string]Values{}
	for _, dir := range slices.Sorted(maps.Keys(tables)) {
		name := joinKey(top, dir)
		table, ok := tables[dir].(map[string]any)
		if !ok {
			return nil, &lineError{d.path, d.lines[name], wanted}
		}
		if url, err := run.ParseURL(dir); (err != nil || url != dir) && (!filepath.IsAbs(dir) || filepath.Clean(dir) != dir) {
			return nil, &lineError{d.path, d.lines[name], fmt.Sprintf("[repository.%q]: use the absolute path of the repository, or its URL", dir)}
		}
		values, err := d.readTable(name, table, keys)
		if err != nil {
			return nil, err
		}
		all[dir] = values
	}
	return all, nil
}

// readTable reads one table, the first line first. The keys are those that it may have.
func (d document) readTable(table string, members map[string]any, keys []key) (Values, error) {
	values := Values{}
	line := func(name string) int { return d.lines[joinKey(table, name)] }
	for _, name := range slices.SortedFunc(maps.Keys(members), func(a, b string) int { return line(a) - line(b) }) {
		k, ok := findKey(keys, name)
		if !ok {
			return nil, &lineError{d.path, line(name), unknownKey(keys, name)}
		}
		texts, err := k.read(members[name])
		if err != nil {
			return nil, &lineError{d.path, line(name), err.Error()}
		}
		values[name] = Value{Texts: texts, Path: d.path, Line: line(name)}
	}
	return values, nil
}

// flagsOnly are flags of `starter run` that no file sets.
var flagsOnly = []string{"goal", "goal-file", "set", "repo", "base", "id", "detach", "tell", "json", "runs-dir", "task-queue", "no-color"}

// FlagOnly returns why a flag of `starter run` is no setting; ok is false if it may be one.
func FlagOnly(name string) (why string, ok bool) {
	if !slices.Contains(flagsOnly, name) {
		return "", false
	}
	return fmt.Sprintf("%s is not a setting: use the flag --%s", name, name), true
}

// unknownKey says what a key may have meant, by the keys that there are.
func unknownKey(keys []key, name string) string {
	if why, ok := FlagOnly(name); ok {
		return why
	}
	if name == noticeTable {
		return noticesElsewhere
	}
	// cobra suggests names that are close to a mistyped one.
	known := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range namesOf(keys) {
		known.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if meant := known.SuggestionsFor(strings.ReplaceAll(name, "_", "-")); len(meant) > 0 {
		return fmt.Sprintf("unknown key %+.60q: did you mean %s?", name, strings.Join(meant, " or "))
	}
	return fmt.Sprintf("unknown key %+.60q: the keys are %s", name, strings.Join(namesOf(keys), ", "))
}
