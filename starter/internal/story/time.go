package story

import (
	"time"

	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// endWait counts a wait that has ended, and returns how long it was.
func (t *Formatter) endWait(at time.Time) string {
	if t.asked.IsZero() {
		return ""
	}
	d := max(at.Sub(t.asked), 0)
	t.waited, t.idle, t.asked = t.waited+d, t.idle+d, time.Time{}
	return t.Style.Dim("  after " + terminal.Duration(d))
}

// formatStep returns how long the phase in progress has worked: the waits for people are not its.
func (t *Formatter) formatStep(at time.Time) string {
	if t.phase.IsZero() {
		return ""
	}
	return t.Style.Dim("  " + terminal.Duration(at.Sub(t.phase)-t.waited))
}

// formatIdle returns how much of a run's time was a wait for people.
func (t *Formatter) formatIdle() string {
	if t.idle < time.Second {
		return ""
	}
	return ", " + terminal.Duration(t.idle) + " of it waiting for people"
}

// formatSince returns a duration in brackets, or "" if the beginning is not known.
func (t *Formatter) formatSince(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return "  " + terminal.Duration(to.Sub(from))
}
