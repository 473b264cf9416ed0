package child

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// Sandbox is the boundary around the programs of clients. The zero Sandbox is none.
type Sandbox struct {
	Box *box.Box
	// Network holds further targets that a client may reach, as package allow reads them.
	Network []string
	// Toolchains are further directories that programs in the boundary see. Their bin is first in PATH.
	Toolchains []string
}

// Held reports whether there is a boundary.
func (s Sandbox) Held() bool { return s.Box != nil }

// Client is what one client needs inside of the boundary.
type Client struct {
	Argv []string
	Env  []string // the whole environment
	// BoxEnv are variables that it has in a box, besides.
	BoxEnv []string
	// Homes are the directories of which a session has its own.
	Homes []Home
	Read  []string // further files and directories to read
	Hosts []string // that the client itself reaches, as package allow reads them

	refused error // why there is no boundary for it
}

// Enclosed is a client inside of the boundary.
type Enclosed struct {
	proc.Box // nil where there is no boundary
	Env      []string
}

// Enclose returns the boundary around a client for a session. The session's checkout is writable with
// its repository, which nothing outside trusts, unless the session reads only. Temporary files are the
// box's own. The programs of the MCP servers of o are named by absolute paths.
func (s Sandbox) Enclose(c Client, o agent.Options) (Enclosed, error) {
	if !s.Held() {
		return Enclosed{Env: c.Env}, nil
	}
	if c.refused != nil {
		return Enclosed{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, c.refused)
	}
	values := ParseEnviron(c.Env)
	targets, err := allow.Expand(slices.Concat(c.Hosts, s.Network), func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if err != nil {
		return Enclosed{}, fmt.Errorf("%w: network of the agent: %w", agent.ErrUnavailable, err)
	}
	maps.Copy(values, o.Kit.Env)
	var path []string
	for _, dir := range s.Toolchains {
		path = append(path, filepath.Join(dir, "bin"))
	}
	values["PATH"] = strings.Join(slices.Concat(path, o.Kit.Path, []string{values["PATH"]}), string(filepath.ListSeparator))
	spec := box.Spec{
		Read: slices.Concat(o.Objects, c.Read, s.Toolchains, o.Kit.Read), Own: slices.Concat(o.Objects, []string{o.Top}, o.Kit.Own),
		Overlays: slices.Clone(o.Kit.Overlays), Write: slices.Clone(o.Kit.Own),
	}
	if o.Sandbox == agent.ReadOnly {
		spec.Read = append(spec.Read, topOf(o))
	} else {
		spec.Write = append(spec.Write, topOf(o))
	}
	for _, dir := range o.Dirs {
		if o.Sandbox == agent.ReadOnly {
			spec.Read = append(spec.Read, filepath.Clean(dir))
		} else {
			spec.Write = append(spec.Write, filepath.Clean(dir))
		}
	}
	for _, dir := range o.ReadDirs {
		spec.Read = append(spec.Read, filepath.Clean(dir))
	}
	if err := s.coverNamed(&spec, o); err != nil {
		return Enclosed{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	spec.Read = append(spec.Read, serverFiles(o, values["PATH"])...)
	if o.Bridge != nil {
		spec.Bridge = o.Bridge.Socket
	}
	for _, h := range c.Homes {
		if err := h.addToSpec(&spec); err != nil {
			return Enclosed{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
		}
	}
	for _, path := range ProgramFiles(c.Argv, values["PATH"]) {
		if !slices.ContainsFunc(spec.Read, func(dir string) bool { return strings.HasPrefix(path+"/", dir+"/") }) {
			spec.Read = append(spec.Read, path)
		}
	}
	boxes := egress.NewBoxes(egress.Config{Targets: targets, Refused: o.Refused})
	maps.Copy(values, ParseEnviron(c.BoxEnv))
	in := Enclosed{Box: boxes.For(s.Box, spec), Env: boxedEnviron(values)}
	if len(c.Homes) > 0 {
		in.Box = housed{boxes: boxes, box: s.Box, spec: spec, homes: c.Homes, dir: o.Home, log: o.Log}
	}
	return in, nil
}

// coverNamed has the box cover the sockets in the directories that a person has named. A checkout is no such directory:
// it is made for the session.
func (s Sandbox) coverNamed(spec *box.Spec, o agent.Options) error {
	named := slices.Concat(o.Dirs, o.ReadDirs)
	if o.Top == "" {
		named = append(named, o.Dir)
	}
	for _, dir := range named {
		if err := s.Box.CheckPath(filepath.Clean(dir)); err != nil { // before a look at all of the home
			return fmt.Errorf("directory %s: %w", dir, err)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		sockets, err := findSockets(real, []string{s.Box.Runs()}, mostMet)
		if err != nil {
			return err
		}
		spec.Covered = append(spec.Covered, sockets...)
	}
	return nil
}

// topOf returns the top of the checkout of a session.
func topOf(o agent.Options) string {
	if o.Top != "" {
		return filepath.Clean(o.Top)
	}
	return filepath.Clean(o.Dir)
}

// boxedCaches are caches whose usual places a box does not show.
var boxedCaches = map[string]string{"GOCACHE": "go-build", "npm_config_cache": "npm", "PIP_CACHE_DIR": "pip"}

// boxedEnviron returns an environment as it is inside of a box.
func boxedEnviron(values map[string]string) []string {
	values["TMPDIR"] = "/tmp"
	for name, dir := range boxedCaches {
		if values[name] == "" {
			values[name] = "/tmp/cache/" + dir
		}
	}
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
