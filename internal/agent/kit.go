package agent

import "github.com/ratchet-dev/ratchet/internal/box"

// Kit holds the toolchains, and the user's caches below a layer of the session's own, with which an agent's programs build
// and test in a box, as the checks of a run do. The zero Kit is empty.
type Kit struct {
	Read     []string          // directories of toolchains, and caches that their tools only read
	Overlays []box.Overlay     // caches; only the session sees its writes to them
	Own      []string          // the directories of the session that Overlays are shown in
	Path     []string          // goes before PATH
	Env      map[string]string // names the caches to their tools
}
