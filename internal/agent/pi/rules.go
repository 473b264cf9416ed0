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
	roots    []string // the working directory and the further ones, with links resolved
	writable []string // the roots that the session may write
	free     []string // tools
	kept     map[string]bool
}

func newRules(o agent.Options) rules {
	r := rules{readOnly: o.Sandbox == agent.ReadOnly, free: o.Tools, kept: map[string]bool{}}
	for _, dir := range append([]string{o.Dir}, o.Dirs...) {
		r.writable = append(r.writable, resolveLinks(dir))
	}
	r.roots = slices.Clone(r.writable)
	for _, dir := range o.ReadDirs {
		r.roots = append(r.roots, resolveLinks(dir))
	}
	return r
}

const outsideReason = "it is outside of the working directory"

// judgeCall allows or denies a call with a reason, or leaves it to a person. Then
// the verdict is empty, and the reason says why.
func (r rules) judgeCall(a gateRequest) (v agent.PermissionVerdict, reason string) {
	reads := slices.Contains(readTools, a.Tool)
	roots := r.writable
	if reads {
		roots = r.roots
	}
	within := r.isWithin(a, roots)
	switch {
	case reads && within:
		return agent.Allow, ""
	case r.readOnly && reads:
		return agent.Deny, "this session may read only in its working directory"
	case r.readOnly:
		return agent.Deny, "this session may only read"
	case slices.Contains(r.free, a.Tool), r.kept[r.sessionScope(a)]:
		return agent.Allow, ""
	case (reads || slices.Contains(editTools, a.Tool)) && !within:
		return "", outsideReason
	}
	return "", ""
}

// allowForSession allows the calls that AllowSession covers.
func (r rules) allowForSession(a gateRequest) { r.kept[r.sessionScope(a)] = true }

// sessionScope names the calls that AllowSession covers for this call. An edit of a
// file in the working directory covers all edits there by the same tool: they
// differ each time, and change nothing else. Hidden files are left out, because
// hooks and settings among them make programs run. A command covers only itself:
// its beginning does not show what a shell does with the rest. Every other call
// covers only calls with the same input.
func (r rules) sessionScope(a gateRequest) string {
	path, _ := a.inputString("path")
	command, _ := a.inputString("command")
	switch {
	case slices.Contains(editTools, a.Tool) && r.isWithin(a, r.writable) && !isHidden(r.resolveCallPath(path), r.writable):
		return a.Tool
	case (a.Tool == "bash" || a.Tool == "powershell") && command != "":
		return a.Tool + "\x00command\x00" + command
	}
	return a.Tool + "\x00input\x00" + string(a.Input)
}

// isWithin reports whether the file or the directory of a call lies in one of the
// roots. Without a path it is the working directory.
func (r rules) isWithin(a gateRequest, roots []string) bool {
	path, ok := a.inputString("path")
	real := r.resolveCallPath(path)
	return ok && real != "" && slices.ContainsFunc(roots, func(root string) bool { return isBelow(real, root) })
}

// resolveCallPath returns where a path leads, as pi reads it. It is empty if that is
// not certain: pi reads some beginnings as a home or a URL, and some spaces as
// others.
func (r rules) resolveCallPath(path string) string {
	odd := func(c rune) bool { return c > unicode.MaxASCII && unicode.IsSpace(c) }
	if strings.HasPrefix(path, "~") || strings.HasPrefix(path, "@") || strings.HasPrefix(path, "file:") || strings.ContainsFunc(path, odd) {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.roots[0], path)
	}
	return resolveLinks(filepath.Clean(path))
}

// resolveLinks follows the links of the existing part of a path. It returns an
// empty string if a link leads nowhere.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
		return ""
	}
	parent := resolveLinks(filepath.Dir(path))
	if parent == "" {
		return ""
	}
	return filepath.Join(parent, filepath.Base(path))
}

// isBelow reports whether a path is the root or in it.
func isBelow(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return root != "" && err == nil && filepath.IsLocal(rel)
}

// isHidden reports whether a path has a hidden name below each root that holds it.
func isHidden(path string, roots []string) bool {
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
