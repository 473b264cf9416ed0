// Package dispatch holds the frozen contract of a dispatch: a message to an agent session that
// already exists. It defines the words, the decision tables, the receipt that they give and the
// outcome that follows it. The package is pure: no I/O, no clock, no Temporal. Package citizen
// knows the targets, package controlsocket reaches them, and a workflow carries out the decisions
// made here.
//
// A dispatch names its target and declares the outcome that it expects. The package guesses nothing
// and has no defaults: each cell of the tables is one verdict, and where facts are missing the
// verdict is a reject.
package dispatch

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"time"
)

// GardenPattern is the form of a garden id. It is purely syntactic: the stamp
// need not be a time.
const GardenPattern = `^\d{8}T\d{6}-[0-9a-f]{6}$`

var gardenForm = regexp.MustCompile(GardenPattern)

// GardenID is the universal address of a citizen.
type GardenID string

// ParseGardenID returns an error for a text that is not a garden id.
func ParseGardenID(s string) (GardenID, error) {
	id := GardenID(s)
	return id, id.Validate()
}

// NewGardenID returns the id of a citizen made now, in local time. Tags can collide: the caller
// must create the record under the id exclusively.
func NewGardenID(now time.Time, tag [3]byte) GardenID {
	return GardenID(now.Format("20060102T150405") + "-" + hex.EncodeToString(tag[:]))
}

// Validate returns an error if id is not a garden id. It thereby refuses every name that could
// leave the directory it is joined to.
func (id GardenID) Validate() error {
	if !gardenForm.MatchString(string(id)) {
		return fmt.Errorf("invalid garden id %q: want a time and six hex digits, as in 20260612T093000-0a1b2c", string(id))
	}
	return nil
}

// UnmarshalText returns an error for a text that is not a garden id.
func (id *GardenID) UnmarshalText(b []byte) error {
	parsed, err := ParseGardenID(string(b))
	if err == nil {
		*id = parsed
	}
	return err
}
