// Package trust decides whether a pi session may be started in a directory without a person
// (docs/contracts/dispatch.md, 8). DecideLaunch applies the rule to facts. Look gathers the facts from
// pi's own store and the directory. A launch is approved or refused; it is never degraded.
package trust

import (
	"fmt"
	"strings"
)

// SavedTrust is the decision in pi's trust store about a directory.
type SavedTrust string

// The decisions. The zero Decision is none.
const (
	Undecided  SavedTrust = ""
	Trusted    SavedTrust = "trusted"
	Distrusted SavedTrust = "distrusted"
)

// Facts are the input of DecideLaunch.
type Facts struct {
	Dir string `json:"dir"` // canonical
	// Saved is the decision about Dir or about its nearest ancestor that has one. SavedAt is the
	// directory that has the decision.
	Saved   SavedTrust `json:"saved,omitempty"`
	SavedAt string     `json:"savedAt,omitempty"`
	Root    string     `json:"root,omitempty"` // the operator's root that Dir is at or under
	// Inputs reports that the directory has settings of its own that pi asks trust for.
	Inputs bool `json:"inputs"`
}

// Kind is the decision about a launch.
type Kind string

// The kinds. The zero Kind is none of them, and permits no launch.
const (
	Approve Kind = "approve"        // with --approve
	Go      Kind = "trusted-no-arg" // there is nothing to approve
	Deny    Kind = "deny"
)

// Reason is the reason of a verdict.
type Reason string

// The reasons, in their precedence.
const (
	SavedFalse    Reason = "saved-false"
	SavedTrue     Reason = "saved-true"
	PrefixMatch   Reason = "prefix-match"
	NoTrustInputs Reason = "no-trust-inputs"
	FailFast      Reason = "fail-fast"
)

// LaunchDecision is the decision about a launch.
type LaunchDecision struct {
	Kind   Kind   `json:"kind"`
	Reason Reason `json:"reason"`
	Facts  Facts  `json:"facts"`
}

// DecideLaunch returns the verdict for the facts. A saved no takes precedence over an operator's root.
func DecideLaunch(f Facts) LaunchDecision {
	switch {
	case f.Saved == Distrusted:
		return LaunchDecision{Deny, SavedFalse, f}
	case f.Saved == Trusted:
		return LaunchDecision{Approve, SavedTrue, f}
	case f.Root != "":
		return LaunchDecision{Approve, PrefixMatch, f}
	case !f.Inputs:
		return LaunchDecision{Go, NoTrustInputs, f}
	}
	return LaunchDecision{Deny, FailFast, f}
}

// String returns the verdict on one line. For a denial it also says what a person can do.
func (v LaunchDecision) String() string {
	f := v.Facts
	open := "open pi there and trust it"
	switch {
	case v.Kind != Deny:
		return fmt.Sprintf("%s: %s (%s)", f.Dir, v.Kind, v.Reason)
	case v.Reason == FailFast:
		return fmt.Sprintf("%s: not trusted yet, and it has its own settings: %s, or name a root above it in PI_ENTWURF_PREFIX_ROOTS", f.Dir, open)
	case f.SavedAt != f.Dir:
		return fmt.Sprintf("%s: not trusted, because %s is not; to trust only this one, %s", f.Dir, f.SavedAt, open)
	}
	return fmt.Sprintf("%s: not trusted; to change that, %s", f.Dir, open)
}

// coversDir reports whether a directory is at or under a root, both canonical.
func coversDir(root, dir string) bool {
	rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(root, "/"))
	return ok && (rest == "" || rest[0] == '/')
}
