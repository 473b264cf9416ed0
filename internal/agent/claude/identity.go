package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// identity tracks the id by which the session can be resumed. A client may name
// another id than the one it was given: /clear makes a new id, and some versions
// mint one for every resume (docs/contracts/agent.md, 1). Such an id counts once
// a turn under it has completed and its transcript exists; until then the old id
// is kept.
type identity struct {
	id       string
	resumed  bool
	told     bool   // in a Started event
	named    bool   // by the client
	minted   string // another id that does not count yet
	projects projects
}

// confirmID takes the id that the client names at the start of a turn. The first
// id that it names for a fresh session is the session's id.
func (i *identity) confirmID(id string) *agent.Started {
	first := !i.named
	i.named = true
	switch {
	case id == "":
		return nil
	case id != i.id && (!first || i.resumed):
		i.minted = id
		return nil
	}
	i.minted = ""
	if i.told && id == i.id {
		return nil
	}
	return i.adoptID(id)
}

// endTurn ends a turn; well says whether it was completed.
func (i *identity) endTurn(well bool) *agent.Started {
	minted := i.minted
	i.minted = ""
	if minted == "" || !well || !i.projects.hasTranscript(minted) {
		return nil
	}
	return i.adoptID(minted)
}

func (i *identity) adoptID(id string) *agent.Started {
	i.id, i.told = id, true
	return &agent.Started{SessionID: id, Resumed: i.resumed}
}

// projects is the directory where the client keeps transcripts.
type projects string

// configDir returns the directory in which a client with that environment keeps
// its state.
func configDir(env []string) string {
	return child.HomeOf(child.ParseEnviron(env), "CLAUDE_CONFIG_DIR", ".claude")
}

// hasTranscript reports whether there is a transcript of the session. Its
// directory is named after the working directory, with a dash for each slash,
// dot and underscore. But a session that is resumed elsewhere stays in its old
// directory (CLIENT.md, 8), so all directories are searched.
func (p projects) hasTranscript(id string) bool {
	f := p.openTranscript(id)
	if f == nil {
		return false
	}
	f.Close()
	return true
}

// openTranscript returns nil if there is no transcript. The agent can write
// there: a device, a pipe or a link out of the directory is no transcript.
func (p projects) openTranscript(id string) *os.File {
	if uuid.Validate(id) != nil {
		return nil
	}
	root, err := os.OpenRoot(string(p) + "/") // waits for no pipe in its place
	if err != nil {
		return nil
	}
	defer root.Close()
	dirs, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		if f, err := file.OpenIn(root, filepath.Join(dir.Name(), id+".jsonl")); err == nil {
			return f
		}
	}
	return nil
}

// lacksUserMessage reports whether the transcript of the session exists and holds
// no message of the user. A client that is killed soon after the first message
// may not have written it, and would resume a session that never got its task.
// Of a transcript that cannot be read to its end, the client itself decides.
func (p projects) lacksUserMessage(ctx context.Context, id string) bool {
	f := p.openTranscript(id)
	if f == nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, child.MaxLine)
	for lines.Scan() && ctx.Err() == nil {
		var entry struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Type == "user" {
			return false
		}
	}
	return lines.Err() == nil && ctx.Err() == nil
}
