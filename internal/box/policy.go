package box

import (
	"fmt"
	"slices"
)

// Policy says whether what a run starts has to be in a box.
type Policy string

// The policies.
const (
	Required Policy = "required" // nothing is started without a box
	Off      Policy = "off"      // everything is started without a box
)

var policies = []Policy{Required, Off}

// UnmarshalText refuses words that are no policy.
func (p *Policy) UnmarshalText(text []byte) error {
	if !slices.Contains(policies, Policy(text)) {
		return fmt.Errorf("unknown sandbox policy %q: it is %s or %s", text, Required, Off)
	}
	*p = Policy(text)
	return nil
}

// Set is UnmarshalText for a flag.
func (p *Policy) Set(word string) error { return p.UnmarshalText([]byte(word)) }

// String returns the word.
func (p Policy) String() string { return string(p) }

// Type names the type in the help of a flag.
func (Policy) Type() string { return "policy" }
