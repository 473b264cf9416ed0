package agent

import "github.com/ratchet-dev/ratchet/internal/box"

// Kit is what programs of an agent need to build and to test in a box, as the checks of a run have it: toolchains, and
// the user's caches below a layer of the session's own. The zero Kit has nothing.
type Kit struct {
	Read     []string          // directories of toolchains, and caches that their tools only read
	Overlays []box.Overlay     // caches; what the session writes there reaches nobody else
	Own      []string          // the directories of the session that Overlays are shown in
	Path     []string          // goes before PATH
	Env      map[string]string // names the caches to their tools
}
