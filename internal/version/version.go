// Package version says which Ratchet this program is.
//
// A release sets the three variables by the linker: -X of their import path. Any other build uses the version
// that the go command recorded in it.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
)

// Set by the linker in a release; else empty.
var (
	release string // without the v of the tag
	commit  string
	date    string
)

// Info describes the build of a program. An unknown field is empty.
type Info struct {
	Version string `json:"version"`          // "1.2.0"; "devel" when no release and no module version is known
	Commit  string `json:"commit,omitempty"` // full hash; "-dirty" follows when files were changed
	Date    string `json:"date,omitempty"`   // of the commit, RFC 3339, UTC
}

// Release returns the version that the release of this program set. It is empty for any other build.
func Release() string { return release }

// Read describes the build of this program.
func Read() Info {
	i := Info{Version: release, Commit: commit, Date: date}
	if b, ok := debug.ReadBuildInfo(); ok {
		i = i.fillIn(b)
	}
	i.Version = cmp.Or(i.Version, "devel")
	return i
}

// fillIn fills the empty fields from the notes of the go command.
func (i Info) fillIn(b *debug.BuildInfo) Info {
	noted := map[string]string{}
	for _, s := range b.Settings {
		noted[s.Key] = s.Value
	}
	if i.Version == "" && b.Main.Version != "(devel)" {
		i.Version = strings.TrimPrefix(b.Main.Version, "v")
	}
	if i.Commit == "" && noted["vcs.revision"] != "" {
		i.Commit = noted["vcs.revision"]
		if noted["vcs.modified"] == "true" {
			i.Commit += "-dirty"
		}
	}
	i.Date = cmp.Or(i.Date, noted["vcs.time"])
	return i
}

// String returns the description in one line: "1.2.0 (commit 0123abc, 2026-11-22T00:00:00Z)".
func (i Info) String() string {
	var notes []string
	if i.Commit != "" {
		notes = append(notes, "commit "+i.Commit)
	}
	if i.Date != "" {
		notes = append(notes, i.Date)
	}
	if len(notes) == 0 {
		return i.Version
	}
	return fmt.Sprintf("%s (%s)", i.Version, strings.Join(notes, ", "))
}
