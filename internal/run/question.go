package run

// QuestionKind says what a question is about, and so which answers make sense.
type QuestionKind string

// The kinds of questions.
const (
	// AgentQuestion is asked by a provider. Its answer goes into a prompt.
	AgentQuestion QuestionKind = "agent"
	// ErrorQuestion follows an error of a provider or of the run's surroundings. The step can be repeated.
	ErrorQuestion QuestionKind = "error"
	// CheckQuestion follows an evaluation that judged nothing. The evaluation can be repeated.
	CheckQuestion QuestionKind = "check"
	// BudgetQuestion asks whether a used-up budget is raised.
	BudgetQuestion QuestionKind = "budget"
	// BaselineQuestion follows checks that cannot run on the base commit.
	BaselineQuestion QuestionKind = "baseline"
	// RecordQuestion follows a record that knows more than the workflow.
	RecordQuestion QuestionKind = "record"
)

// Repeats reports whether a reply may repeat the step that failed, without a word for a prompt.
func (k QuestionKind) Repeats() bool { return k == ErrorQuestion || k == CheckQuestion }

// questionKind returns the kind of the question that was asked, or is about to be.
func (s *Snapshot) questionKind() QuestionKind {
	e := s.State.LastError
	switch {
	case e != nil && e.Code == CodeAhead:
		return RecordQuestion
	case s.overrunCode() != "":
		return BudgetQuestion
	case s.asksBaseline():
		return BaselineQuestion
	case s.Recheck:
		return CheckQuestion
	case e != nil && s.After.Again:
		return ErrorQuestion
	}
	return AgentQuestion
}
