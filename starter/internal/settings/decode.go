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

	"github.com/BurntSushi/toml"

	"github.com/ratchet-dev/ratchet/internal/display"
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
	// maxOpen bounds the brackets of a file and the dots of a name: the decoder's time grows with the
	// square of how deep a value lies.
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

// document is a file of settings while it is read.
type document struct {
	path string
	meta toml.MetaData
}

// repositoryTable names the table of a user's file whose tables hold the settings for single repositories.
const repositoryTable = "repository"

// decode reads the settings of a file. Only a user's file may have tables: one for each repository, and
// one of notices.
func decode(path string, b []byte, mayName bool) (f File, err error) {
	if err := checkBytes(path, b); err != nil {
		return File{}, err
	}
	d := document{path: path}
	var top map[string]toml.Primitive
	if d.meta, err = toml.Decode(string(b), &top); err != nil {
		return File{}, d.fault(err)
	}
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
	f.Values, err = d.readValues(top, keys)
	return f, err
}

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
			return &lineError{path, i + 1, "nested too often: a setting is a word, a number or a list of words"}
		}
	}
	return nil
}

func (d document) readRepositories(table toml.Primitive) (map[string]Values, error) {
	var tables map[string]map[string]toml.Primitive
	if err := d.meta.PrimitiveDecode(table, &tables); err != nil {
		return nil, d.fault(err)
	}
	if tables == nil { // the decoder takes any value for an empty map
		return nil, &lineError{d.path, d.line(table), "repository wants tables: write [repository.\"/path/of/it\"]"}
	}
	all := map[string]Values{}
	for _, dir := range slices.Sorted(maps.Keys(tables)) {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			return nil, &lineError{d.path, d.line(table), fmt.Sprintf("[repository.%q]: name the repository by its absolute path", dir)}
		}
		values, err := d.readValues(tables[dir], keys)
		if err != nil {
			return nil, err
		}
		all[dir] = values
	}
	return all, nil
}

// readValues reads one table, the first line first. The keys are those that it may have.
func (d document) readValues(table map[string]toml.Primitive, keys []key) (Values, error) {
	values := Values{}
	names := slices.SortedFunc(maps.Keys(table), func(a, b string) int { return d.line(table[a]) - d.line(table[b]) })
	for _, name := range names {
		k, ok := findKey(keys, name)
		line := d.line(table[name])
		if !ok {
			return nil, &lineError{d.path, line, unknownKey(keys, name)}
		}
		c := cell{key: k}
		if err := d.meta.PrimitiveDecode(table[name], &c); err != nil {
			return nil, &lineError{d.path, line, plainCause(err)}
		}
		values[name] = Value{Texts: c.values, Path: d.path, Line: line}
	}
	return values, nil
}

// line returns the line of a value. A table that only the names of others imply has the line of the first of
// them.
func (d document) line(p toml.Primitive) int {
	if parse, ok := errors.AsType[toml.ParseError](d.meta.PrimitiveDecode(p, &lineOf{})); ok && parse.Position.Line > 0 {
		return parse.Position.Line
	}
	var members map[string]toml.Primitive
	if err := d.meta.PrimitiveDecode(p, &members); err != nil {
		return 0
	}
	first := 0
	for _, member := range members {
		if line := d.line(member); first == 0 || line > 0 && line < first {
			first = line
		}
	}
	return first
}

// fault returns the error of the decoder as a line.
func (d document) fault(err error) error {
	if parse, ok := errors.AsType[toml.ParseError](err); ok {
		return &lineError{d.path, parse.Position.Line, plainCause(err)}
	}
	return &lineError{path: d.path, text: strings.TrimPrefix(err.Error(), "toml: ")}
}

// plainCause returns what a decoder's error says beside the line.
func plainCause(err error) string {
	if parse, ok := errors.AsType[toml.ParseError](err); ok {
		text := parse.Error()
		if _, after, ok := strings.Cut(text, fmt.Sprintf("line %d", parse.Position.Line)); ok {
			if parse.LastKey != "" {
				after = strings.TrimPrefix(after, fmt.Sprintf(" (last key %q)", parse.LastKey))
			}
			return strings.TrimPrefix(after, ": ")
		}
	}
	return strings.TrimPrefix(err.Error(), "toml: ")
}

// flagsOnly are flags of `starter run` that no file sets.
var flagsOnly = []string{"goal", "goal-file", "repo", "base", "id", "detach", "tell", "json", "runs-dir", "task-queue", "no-color"}

// FlagOnly returns why a flag of `starter run` is no setting; ok is false if it may be one.
func FlagOnly(name string) (why string, ok bool) {
	if !slices.Contains(flagsOnly, name) {
		return "", false
	}
	return fmt.Sprintf("%s is no setting: give the flag --%s", name, name), true
}

// unknownKey says what a key may have meant, by the keys that there are.
func unknownKey(keys []key, name string) string {
	if why, ok := FlagOnly(name); ok {
		return why
	}
	if name == noticeTable {
		return noticesElsewhere
	}
	best, least := "", 4
	for _, known := range namesOf(keys) {
		if n := distance(strings.ReplaceAll(strings.ToLower(name), "_", "-"), known); n < least {
			best, least = known, n
		}
	}
	if best != "" {
		return fmt.Sprintf("unknown key %+.60q: did you mean %s?", name, best)
	}
	return fmt.Sprintf("unknown key %+.60q: the keys are %s", name, strings.Join(namesOf(keys), ", "))
}

// distance returns how many letters must be added, left out or replaced to make one word of the other. It
// gives up at words that are far too long.
func distance(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
