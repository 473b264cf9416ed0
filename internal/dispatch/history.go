package dispatch

import "time"

// History holds the last dispatches to a target.
type History struct {
	Target GardenID  `json:"target"`
	Ended  []Ended   `json:"dispatches"`     // oldest first
	Open   []Ongoing `json:"open,omitempty"` // oldest first
}

// Ongoing is a dispatch that has not ended.
type Ongoing struct {
	ID     string    `json:"id"`
	Intent Intent    `json:"intent"`
	Since  time.Time `json:"since"`
}

// Ended is a dispatch that has ended.
type Ended struct {
	ID     string    `json:"id"`
	Intent Intent    `json:"intent"`
	At     time.Time `json:"at"`
	Result Result    `json:"result"`
}
