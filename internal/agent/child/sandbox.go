package child

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	// Read are further directories that programs in the boundary see, such as toolchains.
	Read []string
}

// Held reports whether there is a boundary.
func (s Sandbox) Held() bool { return s.Box != nil }

// Client is what one client needs inside of the boundary.
type Client struct {
	Argv []string
	Env  []string // the whole environment
	// State are files and directories of the client's own, writable. Those that end in a slash are
	// directories, and are made. Fixed are files and directories in them that programs of the user load
	// outside of the boundary, such as settings with hooks: read-only, and not to be made.
	State, Fixed []string
	Read         []string // further files and directories to read
	Hosts        []string // that the client itself reaches, as package allow reads them
}

// Enclosed is a client inside of the boundary.
type Enclosed struct {
	proc.Box // nil where there is no boundary
	Env      []string

	boxes *egress.Boxes
}

// Enclose returns the boundary around a client for a session. The session's checkout is writable with
// its repository, which nothing outside trusts, unless the session reads only. Temporary files are the
// box's own.
func (s Sandbox) Enclose(c Client, o agent.Options) (Enclosed, error) {
	if !s.Held() {
		return Enclosed{Env: c.Env}, nil
	}
	values := ParseEnviron(c.Env)
	targets, err := allow.Expand(slices.Concat(c.Hosts, s.Network), func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	if err != nil {
		return Enclosed{}, fmt.Errorf("%w: network of the agent: %w", agent.ErrUnavailable, err)
	}
	spec := box.Spec{Read: slices.Concat(o.Objects, c.Read, s.Read)}
	if o.Sandbox == agent.ReadOnly {
		spec.Read = append(spec.Read, topOf(o))
	} else {
		spec.Write = append(spec.Write, topOf(o))
	}
	for _, dir := range o.Dirs {
		spec.Write = append(spec.Write, filepath.Clean(dir))
	}
	if err := addState(&spec, c); err != nil {
		return Enclosed{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	if o.MCPConfig != "" {
		spec.Read = append(spec.Read, o.MCPConfig)
	}
	spec.Read = append(spec.Read, ProgramFiles(c.Argv, values["PATH"])...)
	boxes := egress.NewBoxes(egress.Config{Targets: targets})
	return Enclosed{Box: boxes.For(s.Box, spec), Env: boxedEnviron(values), boxes: boxes}, nil
}

// topOf returns the top of the checkout of a session.
func topOf(o agent.Options) string {
	if o.Top != "" {
		return filepath.Clean(o.Top)
	}
	return filepath.Clean(o.Dir)
}

// addState adds the files of a client to what a box shows. It makes missing files, so that no
// program in the box can make it.
func addState(spec *box.Spec, c Client) error {
	for _, path := range slices.Concat(c.State, c.Fixed) {
		if err := makeState(path); err != nil {
			return err
		}
	}
	for _, path := range c.State {
		spec.Write = append(spec.Write, filepath.Clean(path))
	}
	for _, path := range c.Fixed {
		path = filepath.Clean(path)
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link, and a box cannot keep it as it is: put the file itself there", path)
		}
		spec.Read = append(spec.Read, path)
	}
	return nil
}

// makeState makes a directory, or a file without settings, unless it is there.
func makeState(path string) error {
	if strings.HasSuffix(path, "/") {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".jsonc") {
		_, err = io.WriteString(f, "{}\n")
	}
	return err
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
