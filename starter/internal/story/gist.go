package story

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Gist returns an event as one row of a list: id, time of day in UTC, place in the loop, type, and a
// summary.
func Gist(s terminal.Style, e run.Event) []string {
	where := "-"
	if e.Phase != "" {
		where = fmt.Sprintf("%s %d", e.Phase, e.Iteration)
	}
	kind := string(e.Type)
	switch {
	case strings.HasSuffix(kind, "FAILED"), strings.Contains(kind, "_FAILED_"), strings.HasSuffix(kind, "REJECTED"):
		kind = s.Bad(kind)
	case strings.HasSuffix(kind, "REQUESTED"), strings.HasSuffix(kind, "RAISED"), strings.HasSuffix(kind, "CANCELED"):
		kind = s.Wait(kind)
	case strings.HasSuffix(kind, "PASSED"), strings.HasSuffix(kind, "GRANTED"), strings.HasSuffix(kind, "APPLIED"), e.Type == run.RunCompletedEvent:
		kind = s.Good(kind)
	}
	_, text := review.EventLine(e)
	return []string{s.Dim(e.ID), s.Dim(e.TS.UTC().Format("15:04:05.000")), where, kind, OneLine(text, 120)}
}
