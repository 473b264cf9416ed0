package story

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// UsageOf returns the usage that an event records.
func UsageOf(e run.Event) (u run.Usage) {
	var found *run.Usage
	switch p := e.Payload.(type) {
	case run.PhaseCompleted:
		found = p.Usage
	case run.PhaseFailed:
		found = p.Usage
	case run.PatchProduced:
		found = p.Usage
	case run.EvaluationPassed:
		found = p.Usage
	case run.EvaluationFailedFixable:
		found = p.Usage
	case run.EvaluationFailedBlocked:
		found = p.Usage
	case run.RunFailed:
		found = p.Usage
	case run.RunCanceled:
		found = p.Usage
	}
	if found != nil {
		u = *found
	}
	return u
}

// Usage returns tokens and money in short, such as "41k tokens $0.21"; empty if nothing is known
// to be used.
func Usage(u run.Usage) string {
	if u.TotalTokens == 0 && u.Cost == 0 {
		return ""
	}
	text := shortCount(u.TotalTokens) + " tokens"
	if u.Cost > 0 {
		text += " " + u.Cost.String()
	}
	return text
}

// shortCount returns a number in at most four characters.
func shortCount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1000*1000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
