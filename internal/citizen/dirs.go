// Package citizen is the registry of agent sessions that others can address. It knows the places of
// the registry, the record of each session, and our own identity in it. Its sub-packages hold the
// parts that belong to a citizen: markers, mailbox, lock, trust, and the listing of all. Other
// programs share every file, and the package keeps to their forms exactly
// (docs/contracts/dispatch.md, 3). It decides no dispatch.
package citizen

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Dirs holds the places of the registry. Only FindDirs makes it, which prevents an override from
// moving one half of the product and leaving the other (docs/contracts/dispatch.md, 3).
type Dirs struct {
	Home      string // replaces ~
	Agent     string // pi's own directory
	Sessions  string // records
	Mailboxes string
	Senders   string
	Receivers string
	Sockets   string
	Locks     string
	Trust     string // pi's trust store, a file

	// PrefixRoots are the directories that the operator trusts together with everything below them.
	// They are as the operator wrote them, except for ~.
	PrefixRoots []string
}

// The overrides, each under its own name and under the name that later versions gave it
// (docs/contracts/dispatch.md, 3 and 13). The later name wins.
var (
	sessionsVars    = []string{"ENTWURF_META_SESSIONS_DIR", "PI_META_SESSIONS_DIR"}
	mailboxesVars   = []string{"ENTWURF_META_MAILBOX_DIR", "PI_META_MAILBOX_DIR"}
	sendersVars     = []string{"ENTWURF_META_SENDERS_DIR", "PI_META_SENDERS_DIR"}
	receiversVars   = []string{"ENTWURF_META_RECEIVERS_DIR", "PI_META_RECEIVERS_DIR"}
	socketsVars     = []string{"ENTWURF_DIR", "PI_ENTWURF_DIR"}
	agentVars       = []string{"PI_CODING_AGENT_DIR"}
	prefixRootsVars = []string{"ENTWURF_PREFIX_ROOTS", "PI_ENTWURF_PREFIX_ROOTS"}
)

// FindDirs returns the places given by HOME and the overrides. Lookup returns a variable, as
// os.LookupEnv does. An empty variable counts as unset. FindDirs creates nothing.
func FindDirs(lookup func(string) (string, bool)) (Dirs, error) {
	home, ok := lookup("HOME")
	if !ok || !filepath.IsAbs(home) {
		return Dirs{}, errors.New("find the registry: HOME is not set to an absolute path")
	}
	f := finder{lookup: lookup, home: filepath.Clean(home)}
	pi := filepath.Join(f.home, ".pi")
	agent := f.absoluteDir(filepath.Join(pi, "agent"), agentVars)
	d := Dirs{
		Home:        f.home,
		Agent:       agent,
		Sessions:    f.absoluteDir(filepath.Join(agent, "meta-sessions"), sessionsVars),
		Mailboxes:   f.absoluteDir(filepath.Join(agent, "meta-mailbox"), mailboxesVars),
		Senders:     f.absoluteDir(filepath.Join(agent, "meta-senders"), sendersVars),
		Receivers:   f.absoluteDir(filepath.Join(agent, "meta-receivers"), receiversVars),
		Sockets:     f.absoluteDir(filepath.Join(pi, "entwurf-control"), socketsVars),
		Locks:       filepath.Join(pi, "entwurf-v2-locks"),
		Trust:       filepath.Join(agent, "trust.json"),
		PrefixRoots: f.rootDirs(),
	}
	return d, f.err
}

// Socket returns the path of a citizen's control socket.
func (d Dirs) Socket(id dispatch.GardenID) string { return controlsocket.Path(d.Sockets, id) }

// Mailbox returns the directory of a citizen's mail.
func (d Dirs) Mailbox(id dispatch.GardenID) string { return filepath.Join(d.Mailboxes, string(id)) }

type finder struct {
	lookup func(string) (string, bool)
	home   string
	err    error
}

// absoluteDir returns the first override that is set, as an absolute path, or else the given place.
func (f *finder) absoluteDir(place string, vars []string) string {
	value := f.firstValue(vars)
	if value == "" {
		return place
	}
	abs, err := filepath.Abs(expandHome(value, f.home))
	if err != nil {
		f.err = errors.Join(f.err, fmt.Errorf("find the registry: %s: %w", vars[0], err))
	}
	return abs
}

func (f *finder) rootDirs() []string {
	var roots []string
	for root := range strings.SplitSeq(f.firstValue(prefixRootsVars), string(filepath.ListSeparator)) {
		if root = strings.TrimSpace(root); root != "" {
			roots = append(roots, expandHome(root, f.home))
		}
	}
	return roots
}

func (f *finder) firstValue(vars []string) string {
	for _, name := range vars {
		if value, ok := f.lookup(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// expandHome replaces a leading ~ by the home directory.
func expandHome(path, home string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return filepath.Join(home, rest)
}
