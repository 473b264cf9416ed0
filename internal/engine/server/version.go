package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"go.temporal.io/server/common/headers"
)

// Set by the linker in a release; else empty.
var (
	release string // without the v of the tag
	commit  string
	date    string // of the commit, RFC 3339, UTC
)

// releaseVariable names the environment variable by which the starter of a release asks for the
// engine of the same release. Package engine has the same name.
const releaseVariable = "RATCHET_ENGINE_RELEASE"

// about describes this program.
type about struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Server  string `json:"server"` // version of Temporal's server
}

func readAbout() about {
	a := about{Version: cmp.Or(release, "devel"), Commit: commit, Date: date, Server: headers.ServerVersion}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				a.Commit = cmp.Or(a.Commit, s.Value)
			case "vcs.time":
				a.Date = cmp.Or(a.Date, s.Value)
			}
		}
	}
	return a
}

func (a about) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(a)
	}
	built := ""
	if a.Commit != "" {
		built = fmt.Sprintf(" (commit %s, %s)", a.Commit, a.Date)
	}
	_, err := fmt.Fprintf(w, "ratchet-engine %s%s, Temporal server %s\n", a.Version, built, a.Server)
	return err
}

// checkRelease refuses to serve the starter of another release: what they say to each other may have changed.
func checkRelease() error {
	wanted := os.Getenv(releaseVariable)
	if wanted == "" || wanted == release {
		return nil
	}
	return fmt.Errorf("%s has version %s, but the starter has %s: install both from one archive", os.Args[0], cmp.Or(release, "devel"), wanted)
}
