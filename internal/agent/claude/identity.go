package claude

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// identity is by what the session can be resumed. A client may name another id
// than the one it was given: /clear makes a new one, and some versions mint
// one for every resume (docs/contracts/agent.md, 1). Such an id counts
// once a turn under it went well and its transcript is there; until then the
// old one is kept.
type identity struct {
	id       string
	resumed  bool
	told     bool   // in a Started event
	named    bool   // by the client
	minted   string // another id, that does not count yet
	projects projects
}

// confirm takes the id that the client names at the begin of a turn. What a
// fresh session is called the first time is its name.
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

// settle ends a turn, which went well or not.
func (i *identity) settleTurn(well bool) *agent.Started {
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

func projectsOf(env []string) projects { return projects(filepath.Join(configDir(env), "projects")) }

// configOf is where a client with that environment keeps its state.
func configDir(env []string) string {
	values := child.ParseEnviron(env)
	if dir := values["CLAUDE_CONFIG_DIR"]; dir != "" {
		return dir
	}
	return filepath.Join(values["HOME"], ".claude")
}

// have says whether there is a transcript of that session. It is in a
// directory named after the working directory, with a dash for each slash, dot
// and underscore; but a session that is resumed elsewhere stays where it was
// (docs/contracts/claude-code.md, 8), so all of them are looked at.
func (p projects) hasTranscript(id string) bool { return p.findTranscript(id) != "" }

func (p projects) findTranscript(id string) string {
	if uuid.Validate(id) != nil {
		return ""
	}
	dirs, err := os.ReadDir(string(p))
	if err != nil {
		return ""
	}
	for _, dir := range dirs {
		name := filepath.Join(string(p), dir.Name(), id+".jsonl")
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return ""
}

// deaf says that the transcript of the session is there and holds nothing that
// the user said: a client that is killed soon after the first message may not
// have written it, and would go on with a session that never heard its task.
func (p projects) lacksUserMessage(id string) bool {
	f, err := os.Open(p.findTranscript(id))
	if err != nil {
		return false // the client itself knows best
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		var entry struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(line, &entry) == nil && entry.Type == "user" {
			return false
		}
		if err != nil {
			return true
		}
	}
}
