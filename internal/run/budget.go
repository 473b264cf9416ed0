package run

import (
	"fmt"
	"strconv"
	"strings"
)

// The codes of the problem of a used-up budget.
const (
	CodeBudget = "BUDGET" // of tokens
	CodeCost   = "BUDGET_COST"
)

// BudgetRaise is the content of the reply to a question about a budget: the new
// total of the used-up budget, or the wish to stop.
type BudgetRaise struct {
	MaxTokens int64
	MaxCost   Micros
	Stop      bool
}

// stopWord is the answer that ends a run instead of raising its budget.
const stopWord = "stop"

// ParseBudget parses the reply to a question about a budget. It returns the zero
// BudgetRaise for a reply to any other question.
func (s *Snapshot) ParseBudget(r Reply) (BudgetRaise, error) {
	text := strings.TrimSpace(r.Text)
	switch s.overrunCode() {
	case CodeBudget:
		if strings.EqualFold(text, stopWord) {
			return BudgetRaise{Stop: true}, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= s.Usage.TotalTokens {
			return BudgetRaise{}, fmt.Errorf("answer with the new total budget, more than the %d tokens used so far, or with %q", s.Usage.TotalTokens, stopWord)
		}
		return BudgetRaise{MaxTokens: n}, nil
	case CodeCost:
		if strings.EqualFold(text, stopWord) {
			return BudgetRaise{Stop: true}, nil
		}
		d, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
		if err != nil || Dollars(d) <= s.Usage.Cost {
			return BudgetRaise{}, fmt.Errorf("answer with the new total budget in dollars, more than the %v spent so far, or with %q", s.Usage.Cost, stopWord)
		}
		return BudgetRaise{MaxCost: Dollars(d)}, nil
	}
	return BudgetRaise{}, nil
}

// overrunCode returns the code of the budget that the pending question concerns;
// empty if the question concerns something else.
func (s *Snapshot) overrunCode() string {
	if e := s.State.LastError; e != nil && (e.Code == CodeBudget || e.Code == CodeCost) {
		return e.Code
	}
	return ""
}

// BudgetOverrun returns the problem and the question for a used-up budget. The
// amount used is the run's usage plus more.
func (s *Snapshot) BudgetOverrun(more Usage) (Problem, Question) {
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
