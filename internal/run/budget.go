package run

import (
	"fmt"
	"strconv"
	"strings"
)

// The codes of the problems that are a used-up budget.
const (
	CodeBudget = "BUDGET" // of tokens
	CodeCost   = "BUDGET_COST"
)

// Raise is what the reply to a question about a budget says: the new total of
// the budget that was used up, or to stop.
type Raise struct {
	MaxTokens int64
	MaxCost   Micros
	Stop      bool
}

// stopWord is the answer that ends a run instead of raising its budget.
const stopWord = "stop"

// Budget reads the reply to a question about a budget. A reply to any other
// question raises nothing.
func (s *Snapshot) Budget(r Reply) (Raise, error) {
	text := strings.TrimSpace(r.Text)
	switch s.overrun() {
	case CodeBudget:
		if strings.EqualFold(text, stopWord) {
			return Raise{Stop: true}, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= s.Usage.TotalTokens {
			return Raise{}, fmt.Errorf("answer with the new total budget, a number over the %d tokens used so far, or with %q", s.Usage.TotalTokens, stopWord)
		}
		return Raise{MaxTokens: n}, nil
	case CodeCost:
		if strings.EqualFold(text, stopWord) {
			return Raise{Stop: true}, nil
		}
		d, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
		if err != nil || Dollars(d) <= s.Usage.Cost {
			return Raise{}, fmt.Errorf("answer with the new total budget in dollars, more than the %v spent so far, or with %q", s.Usage.Cost, stopWord)
		}
		return Raise{MaxCost: Dollars(d)}, nil
	}
	return Raise{}, nil
}

// overrun is the code of the budget that the pending question is about; empty
// when it is about something else.
func (s *Snapshot) overrun() string {
	if e := s.State.LastError; e != nil && (e.Code == CodeBudget || e.Code == CodeCost) {
		return e.Code
	}
	return ""
}

// Overrun is the problem and the question of a budget that is used up by what
// was used and, beyond it, more.
func (s *Snapshot) Overrun(more Usage) (Problem, Question) {
	used := s.Usage.Add(more)
	if s.Input.MaxCost > 0 && (used.Cost >= s.Input.MaxCost || s.Input.MaxTokens == 0) {
		return Problem{Code: CodeCost, Message: "the cost budget is used up"}, Question{
			Question:    fmt.Sprintf("The budget of %v is used up: %v were spent. Raise it, or stop?", s.Input.MaxCost, used.Cost),
			Reason:      CodeCost,
			NeededInput: []string{"the new total budget in dollars, a number", stopWord + ", to end the run"},
		}
	}
	return Problem{Code: CodeBudget, Message: "the token budget is used up"}, Question{
		Question:    fmt.Sprintf("The budget of %d tokens is used up: %d were used. Raise it, or stop?", s.Input.MaxTokens, used.TotalTokens),
		Reason:      CodeBudget,
		NeededInput: []string{"the new total budget in tokens, a number", stopWord + ", to end the run"},
	}
}
