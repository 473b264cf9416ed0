package run

import "fmt"

// CodeRepository is the code of a problem with the user's repository that only a
// person can fix: the repository lacks objects or cannot be read. No answer of a
// provider is at fault.
const CodeRepository = "Repository"

// RepositoryQuestion returns the question to a person about a problem with the
// code CodeRepository. After the answer the step is made again.
func RepositoryQuestion(p Problem) Question {
	return Question{
		Question: fmt.Sprintf("The run cannot use the repository: %s. How should the run continue?", p.Message),
		Reason:   p.Code,
		NeededInput: []string{
			"fix it (git fetch --refetch --no-filter completes a partial clone, git fsck finds other damage), then answer with any text: the step is repeated",
			"cancel the run to end it",
		},
	}
}
