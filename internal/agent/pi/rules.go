package pi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// rules say which calls need no person.
type rules struct {
	readOnly bool
	roots    []string // the working directory and the further ones, without links
	free     []string // tools
	kept     map[string]bool
}

func newRules(o agent.Options) rules {
	r := rules{readOnly: o.Sandbox == agent.ReadOnly, free: o.Tools, kept: map[string]bool{}}
	for _, dir := range append([]string{o.Dir}, o.Dirs...) {
		r.roots = append(r.roots, resolve(dir))
	}
	return r
}

const outside = "it is outside of the working directory"

// judge allows or denies a call, for a reason, or leaves it to a person: the
// verdict is empty then, and the reason why that is so.
func (r rules) judge(a ask) (v agent.PermissionVerdict, reason string) {
	reads := slices.Contains(readTools, a.Tool)
	within := r.within(a)
	switch {
	case reads && within:
		return agent.Allow, ""
	case r.readOnly && reads:
		return agent.Deny, "this session may read only in its working directory"
	case r.readOnly:
		return agent.Deny, "this session may only read"
	case slices.Contains(r.free, a.Tool), r.kept[r.scope(a)]:
		return agent.Allow, ""
	case (reads || slices.Contains(editTools, a.Tool)) && !within:
		return "", outside
	}
	return "", ""
}

// keep allows for the session what AllowSession covers.
func (r rules) keep(a ask) { r.kept[r.scope(a)] = true }

// scope is what AllowSession covers for this call. An edit of a file in the
// working directory stands for all edits there by the same tool: they differ
// each time, and change nothing else. Hidden files are left out: hooks and
// settings among them make programs run. A command stands for itself alone:
// how it begins says nothing of what a shell does with the rest. So does
// every other call, with all of its input.
func (r rules) scope(a ask) string {
	path, _ := a.member("path")
	command, _ := a.member("command")
	switch {
	case slices.Contains(editTools, a.Tool) && r.within(a) && !hidden(r.real(path), r.roots):
		return a.Tool
	case (a.Tool == "bash" || a.Tool == "powershell") && command != "":
		return a.Tool + "\x00command\x00" + command
	}
	return a.Tool + "\x00input\x00" + string(a.Input)
}

// within says whether the file or the directory of a call is in one of ours.
// Without a path it is the working directory.
func (r rules) within(a ask) bool {
	path, ok := a.member("path")
	real := r.real(path)
	return ok && real != "" && slices.ContainsFunc(r.roots, func(root string) bool { return below(real, root) })
}

// real is where a path leads, as pi takes it; empty where that is not certain:
// pi reads some beginnings as a home or a URL, and some spaces as others.
func (r rules) real(path string) string {
	odd := func(c rune) bool { return c > unicode.MaxASCII && unicode.IsSpace(c) }
	if strings.HasPrefix(path, "~") || strings.HasPrefix(path, "@") || strings.HasPrefix(path, "file:") || strings.ContainsFunc(path, odd) {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.roots[0], path)
	}
	return resolve(filepath.Clean(path))
}

// resolve follows the links of a path, as far as it is there; empty where a
// link leads nowhere.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
		return ""
	}
	parent := resolve(filepath.Dir(path))
	if parent == "" {
		return ""
	}
	return filepath.Join(parent, filepath.Base(path))
}

// below says whether a path is the root or in it.
func below(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return root != "" && err == nil && filepath.IsLocal(rel)
}

// hidden says whether a path goes by a hidden name, from every root that it is
// in.
func hidden(path string, roots []string) bool {
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if !strings.HasPrefix(rel, ".") && !strings.Contains(rel, "/.") {
			return false
		}
	}
	return true
}
