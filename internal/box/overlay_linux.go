package box

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/box/inner"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// mountSpace are the options of the bwrap around the box that only gives a place for mounts: the
// whole file system, and a user namespace in which overlays may be mounted. Our own executable runs
// in it, mounts, and becomes the bwrap that makes the box.
var mountSpace = []string{"--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL", "--die-with-parent", "--dev-bind", "/", "/"}

// mountFirst returns the command that mounts the overlays of the spec and runs bwrap then. The options
// of mountSpace come by a descriptor.
func (e entry) mountFirst(bwrap []string, options int) []string {
	var overlays []inner.Overlay
	for _, o := range e.spec.Overlays {
		overlays = append(overlays, inner.Overlay(o))
	}
	outer := []string{e.box.program, "--args", fmt.Sprint(options), "--", e.box.own}
	return append(outer, inner.OverlayArgs(overlays, bwrap)...)
}

// tryOverlay reports whether an overlay works: a file written in a box is in the upper directory and
// not in the lower one.
func (b *Box) tryOverlay(ctx context.Context, in string) bool {
	if _, err := os.Stat(in); err != nil {
		in = "" // it will be made later, and most likely in the same file system
	}
	dir, err := os.MkdirTemp(in, "ratchet-box-")
	if err != nil {
		return false
	}
	if dir, err = filepath.Abs(dir); err != nil { // the mounts are made from another directory
		return false
	}
	defer git.RemoveTree(dir)
	o := Overlay{Lower: filepath.Join(dir, "lower"), Upper: filepath.Join(dir, "upper"), Work: filepath.Join(dir, "work")}
	o.Target = o.Lower
	for _, d := range []string{o.Lower, o.Upper, o.Work} {
		if os.Mkdir(d, 0o700) != nil {
			return false
		}
	}
	file := filepath.Join(o.Lower, "file")
	if os.WriteFile(file, []byte("below"), 0o600) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	able := *b
	able.overlay = true
	r, err := proc.Run(ctx, proc.Command{
		Argv: []string{"/bin/sh", "-c", "test -s file && echo above > file"}, Dir: o.Target, Env: probeEnv,
		Box: able.For(Spec{Overlays: []Overlay{o}}),
	})
	if err != nil || r.ExitCode != 0 {
		return false
	}
	below, belowErr := os.ReadFile(file)
	above, aboveErr := os.ReadFile(filepath.Join(o.Upper, "file"))
	return belowErr == nil && aboveErr == nil && string(below) == "below" && string(above) == "above\n"
}
