package agent

import "math"

// Ladder are the bounds of one answer in tokens, from the first start of a
// session on (docs/contracts/agent.md, 4). Each step down leaves more of the
// window to the prompt. A Budget event asks for the next step at the next
// start; the caller keeps the step with the session, outside its process.
var Ladder = []int{32000, 16000, 8000}

// ladderWindow is the window that the ladder is made for.
const (
	ladderWindow  = 200_000
	maxReserve    = 20_000 // of the window that the client reserves for an answer, at most
	compactBuffer = 13_000 // below that the client compacts by itself
	warnBuffer    = 12_000 // and below that we warn
	floorBuffer   = 8_000  // distance to the hard limit at which a step is due in any case
)

// Rung clamps a step to the ladder: what is no number of a step is the first,
// what is too large the last.
func Rung(step float64) int {
	if math.IsNaN(step) || step < 0 {
		return 0
	}
	return int(min(step, float64(len(Ladder)-1)))
}

// Limits are what a bound on answers leaves of a window.
type Limits struct {
	Hard      int // past it the model has no room for an answer
	Effective int
	Compact   int // the client compacts by itself
	Warn      int // a Budget event is due
	Escalate  int // the next step is due; zero on the last rung
}

// LimitsOf returns the limits of a rung for a window; zero means the window of
// 200,000 tokens.
func LimitsOf(rung, window int) Limits {
	if window <= 0 {
		window = ladderWindow
	}
	answer := Ladder[Rung(float64(rung))]
	l := Limits{Hard: window - answer, Effective: window - min(answer, maxReserve)}
	l.Compact = l.Effective - compactBuffer
	l.Warn = l.Compact - warnBuffer
	if rung < len(Ladder)-1 {
		l.Escalate = l.Hard - floorBuffer
	}
	return l
}
