package register

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/exact"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// Settings is the file of the user's settings of Claude Code.
type Settings struct{ Path string }

// SettingsOf returns the settings of the user with that environment; an error says that there is no place for them.
func SettingsOf(getenv func(string) string) (Settings, error) {
	dir := getenv("CLAUDE_CONFIG_DIR")
	if home := getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".claude")
	}
	if !filepath.IsAbs(dir) {
		return Settings{}, errors.New("cannot find the settings of Claude Code: HOME is not set to an absolute path")
	}
	return Settings{filepath.Join(dir, "settings.json")}, nil
}

// Change is a change of the file that has not been made yet.
type Change struct {
	// Entries are the lines that are added, for a person to read; empty if none are.
	Entries string
	// None says that the file is as wanted already.
	None bool
	// Disabled says that the settings switch all hooks off.
	Disabled bool

	settings Settings
	old, new []byte
	mode     fs.FileMode
}

// The parts of a command of ours, by which it is found again. The quoted program stands behind each of the first two; the
// last ends in a comment for people.
const (
	commandStart  = "[ ! -x "
	commandMiddle = " ] || exec "
	commandEnd    = " hook claude # ratchet"
)

// commandOf returns the shell command that hands an event to the program. It does nothing where the program is not,
// as after it was removed, and in the box of a run.
func commandOf(program string) string {
	quoted := quoteProgram(program)
	return commandStart + quoted + commandMiddle + quoted + commandEnd
}

func quoteProgram(program string) string {
	return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
}

// isOurs reports whether commandOf has made the command, for whichever program.
func isOurs(command string) bool {
	twice, begins := strings.CutPrefix(command, commandStart)
	twice, ends := strings.CutSuffix(twice, commandEnd)
	length := (len(twice) - len(commandMiddle)) / 2
	if !begins || !ends || length < len("''") {
		return false
	}
	program := strings.ReplaceAll(twice[1:length-1], `'\''`, "'")
	return command == commandOf(program)
}

// signalName is the name of the file that a mailbox's writer changes.
const signalName = "inbox.signal"

// entries are the hooks by their events, as Claude Code 2.1.329 reads them.
func entries(program string) object {
	hook := map[string]any{"type": "command", "command": commandOf(program), "timeout": 20}
	bell := map[string]any{
		"type": "command", "command": commandOf(program), "timeout": 20,
		"asyncRewake": true, "rewakeSummary": "a message of another agent session", "rewakeMessage": "Mail from other agent sessions:",
	}
	group := func(g map[string]any) json.RawMessage {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(g) // it has only texts
		return bytes.TrimSpace(b.Bytes())
	}
	plain := group(map[string]any{"hooks": []any{hook}})
	return object{
		{Name: "SessionStart", Value: plain}, {Name: "CwdChanged", Value: plain}, {Name: "SessionEnd", Value: plain},
		{Name: "FileChanged", Value: group(map[string]any{"matcher": signalName, "hooks": []any{bell}})},
	}
}

// Install returns the change that adds the hooks of the program, which replace older ones of ours.
func (s Settings) Install(program string) (Change, error) {
	return s.changeHooks(func(hooks object) (object, error) {
		hooks, err := withoutOurs(hooks)
		if err != nil {
			return nil, err
		}
		for _, m := range entries(program) {
			groups, _ := hooks.get(m.Name)
			var list []json.RawMessage
			if groups != nil {
				if err := json.Unmarshal(groups, &list); err != nil {
					return nil, fmt.Errorf("its hooks of %s are not a list", m.Name)
				}
			}
			hooks = hooks.with(m.Name, listOf(append(list, m.Value)))
		}
		return hooks, nil
	}, entries(program))
}

// Remove returns the change that takes our hooks out, and nothing else.
func (s Settings) Remove() (Change, error) { return s.changeHooks(withoutOurs, nil) }

// changeHooks returns the change of the member hooks that edit makes.
func (s Settings) changeHooks(edit func(object) (object, error), shown object) (Change, error) {
	c, err := s.plan(edit)
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", s.Path, err)
	}
	if len(shown) > 0 {
		c.Entries = string(indented(object{{Name: "hooks", Value: wrapped(shown).bytes()}}.bytes()))
	}
	return c, nil
}

func wrapped(list object) object {
	out := make(object, 0, len(list))
	for _, m := range list {
		out = append(out, exact.Member{Name: m.Name, Value: listOf([]json.RawMessage{m.Value})})
	}
	return out
}

func (s Settings) plan(edit func(object) (object, error)) (Change, error) {
	c := Change{settings: s}
	var err error
	if c.old, c.mode, err = s.readFile(); err != nil {
		return c, err
	}
	top := object{}
	if c.old != nil {
		if top, err = parseObject(c.old); err != nil {
			return c, err
		}
	}
	off, _ := top.get("disableAllHooks")
	c.Disabled = string(off) == "true"
	hooks := object{}
	if raw, ok := top.get("hooks"); ok {
		if hooks, err = parseObject(raw); err != nil {
			return c, fmt.Errorf("its hooks: %w", err)
		}
	}
	if hooks, err = edit(hooks); err != nil {
		return c, err
	}
	var value json.RawMessage
	if len(hooks) > 0 {
		value = hooks.bytes()
	}
	c.new = indented(top.with("hooks", value).bytes())
	c.None = c.old == nil && len(hooks) == 0 || c.old != nil && bytes.Equal(compact(c.old), compact(c.new))
	return c, nil
}

// maxSettings bounds the file.
const maxSettings = 1 << 20

// readFile returns the content of the file; nil if there is none. It refuses everything but a plain file of this user.
func (s Settings) readFile() ([]byte, fs.FileMode, error) {
	f, err := file.Trust{Closed: 0o022}.OpenOwn(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(b) > maxSettings {
		err = fmt.Errorf("it has more than %d bytes", maxSettings)
	}
	if err == nil && len(bytes.TrimSpace(b)) == 0 {
		return nil, info.Mode().Perm(), nil
	}
	return b, info.Mode().Perm(), err
}

// Make makes the change. It makes none if the file is not as it was when the change was planned.
func (c Change) Make() error {
	if c.None {
		return nil
	}
	path := c.settings.Path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := file.CheckDir(filepath.Dir(path)); err != nil {
		return err
	}
	now, _, err := c.settings.readFile()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !bytes.Equal(now, c.old) {
		return fmt.Errorf("another program changed %s meanwhile; nothing was written: try again", path)
	}
	if err := file.Replace(path, c.new); err != nil {
		return err
	}
	return os.Chmod(path, c.mode)
}

// withoutOurs takes our hooks out of each event, and with them the groups and events that had no other.
func withoutOurs(hooks object) (object, error) {
	for _, m := range hooks {
		var groups []json.RawMessage
		if err := json.Unmarshal(m.Value, &groups); err != nil {
			return nil, fmt.Errorf("its hooks of %s are not a list", m.Name)
		}
		var kept []json.RawMessage
		for _, raw := range groups {
			group, ours, err := filterGroup(raw)
			if err != nil {
				return nil, fmt.Errorf("its hooks of %s: %w", m.Name, err)
			}
			if ours && group == nil {
				continue
			}
			if ours {
				raw = group
			}
			kept = append(kept, raw)
		}
		value := listOf(kept)
		if len(kept) == 0 && len(groups) > 0 {
			value = nil
		}
		hooks = hooks.with(m.Name, value)
	}
	return hooks, nil
}

// filterGroup takes our hooks out of a group; nil: nothing is left. Ours reports whether it had one.
func filterGroup(raw json.RawMessage) (group json.RawMessage, ours bool, err error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, false, err
	}
	var list []json.RawMessage
	if value, ok := o.get("hooks"); ok && json.Unmarshal(value, &list) != nil {
		return nil, false, errors.New("its hooks are not a list")
	}
	var kept []json.RawMessage
	for _, hook := range list {
		var h struct {
			Command string `json:"command"`
		}
		_ = json.Unmarshal(hook, &h) // a hook of another form has no command, and stays
		if isOurs(h.Command) {
			ours = true
			continue
		}
		kept = append(kept, hook)
	}
	if !ours || len(kept) == 0 {
		return nil, ours, nil
	}
	return o.with("hooks", listOf(kept)).bytes(), true, nil
}

func listOf(list []json.RawMessage) json.RawMessage {
	return append(append(json.RawMessage{'['}, bytes.Join(asBytes(list), []byte(","))...), ']')
}

func asBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		out[i] = raw
	}
	return out
}

func indented(b []byte) []byte {
	var out bytes.Buffer
	_ = json.Indent(&out, b, "", "  ") // parseObject has read it, or it was made here
	out.WriteByte('\n')
	return out.Bytes()
}

func compact(b []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, b)
	return out.Bytes()
}
