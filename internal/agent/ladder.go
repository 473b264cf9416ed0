package agent

// ladder holds the bounds of one answer in tokens, from the first start of a
// session on (docs/contracts/agent.md, 4). Each rung leaves more of the window
// to the prompt than the rung before it. A Budget event asks for the next rung
// at the next start; the caller keeps the rung with the session, outside its
// process.
var ladder = [...]int{32000, 16000, 8000}

// The ladder is made for ladderWindow. The other constants are distances in
// tokens.
const (
	ladderWindow  = 200_000
	maxReserve    = 20_000 // at most this much of the window is reserved by the client for an answer
	compactBuffer = 13_000 // below that distance the client compacts by itself
	warnBuffer    = 12_000 // and below that we warn
	floorBuffer   = 8_000  // distance to the hard limit at which a rung is due in any case
)

// ClampRung returns the rung of the ladder that is nearest to rung.
func ClampRung(rung int) int {
	return min(max(rung, 0), len(ladder)-1)
}

// AnswerTokens returns the bound of one answer on a rung, for
// Options.MaxOutputTokens. It clamps the rung.
func AnswerTokens(rung int) int { return ladder[ClampRung(rung)] }

// NextRung returns the rung for the next start of a session after a warning. A session never goes back
// to an earlier rung.
func NextRung(rung int, b Budget) int { return ClampRung(max(rung, b.Step)) }

// RungOf returns the lowest rung that allows an answer of maxOutput tokens; it
// is the first rung if maxOutput is zero, which means no bound.
func RungOf(maxOutput int) int {
	rung := 0
	for i, tokens := range ladder {
		if maxOutput > 0 && maxOutput <= tokens {
			rung = i
		}
	}
	return rung
}

// Limits holds the fill levels of a window, in tokens, that follow from the
// bound of an answer.
type Limits struct {
	Hard      int // past it the model has no room for an answer
	Effective int // the window without the reserve for an answer
	Compact   int // the client compacts by itself
	Warn      int // a Budget event is due
	Escalate  int // the next rung is due; zero on the last rung
}

// LimitsOf returns the limits of a rung for a window; zero means the window of
// 200,000 tokens.
func LimitsOf(rung, window int) Limits {
	if window <= 0 {
		window = ladderWindow
	}
	answer := AnswerTokens(rung)
	l := Limits{Hard: window - answer, Effective: window - min(answer, maxReserve)}
	l.Compact = l.Effective - compactBuffer
	l.Warn = l.Compact - warnBuffer
	if rung < len(ladder)-1 {
		l.Escalate = l.Hard - floorBuffer
	}
	return l
}
