package git

import (
	"context"
	"slices"
	"strings"
)

// Ref is a reference and the object that it leads to.
type Ref struct {
	Name string // the full name, such as refs/heads/main
	ID   ID
}

// RefMove is the move of a reference from one object to another.
type RefMove struct {
	Name     string // the full name of the reference
	Old, New ID     // Old is zero for a reference that does not exist
	Message  string // of the log
}

// UpdateRef moves a reference itself, if it is at m.Old.
func (r Repo) UpdateRef(ctx context.Context, m RefMove) error {
	return r.runUnhooked(ctx, "update-ref", "--no-deref", "-m", m.Message, m.Name, string(m.New), string(m.Old))
}

// DeleteRef deletes the reference itself, if its object is ref.ID.
func (r Repo) DeleteRef(ctx context.Context, ref Ref) error {
	return r.runUnhooked(ctx, "update-ref", "--no-deref", "-d", ref.Name, string(ref.ID))
}

// runUnhooked runs a git that starts hooks. Since version 2.54 the configuration of a repository holds hooks, too. Its
// switch for all hooks of an event came later, and fails where a hook has the name of the event: each hook is disabled
// by its own name.
func (r Repo) runUnhooked(ctx context.Context, args ...string) error {
	out, err := r.Run(ctx, "config", "-z", "--name-only", "--get-regexp", `^hook\.`)
	if err != nil && ExitCode(err) != 1 { // 1: none is set
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		end := strings.LastIndexByte(name, '.') // git 2.54 takes hook.event for a hook whose name is empty
		if end < 0 {
			continue
		}
		off := [2]string{name[:end] + ".enabled", "false"}
		if !slices.Contains(r.overrides, off) {
			r.overrides = append(r.overrides, off)
		}
	}
	_, err = r.Run(ctx, args...)
	return err
}
