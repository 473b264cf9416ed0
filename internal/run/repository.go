package run

import "fmt"

// CodeRepository is the code of a problem with the user's repository that only a
// person can mend: the repository lacks objects or cannot be read. No answer of a
// provider is at fault.
const CodeRepository = "Repository"

// RepositoryQuestion returns the question to a person about a problem with the
// code CodeRepository. After the answer the step is made again.
func RepositoryQuestion(p Problem) Question {
	return Question{
		Question: fmt.Sprintf("The repository is not as the run needs it: %s. How shall the run go on?", p.Message),
		Reason:   p.Code,
		NeededInput: []string{
			"mend it (git fetch --refetch --no-filter gets what a partial clone lacks, git fsck says what else is wrong), and answer anything: the step is made again",
			"cancel the run to end it",
		},
	}
}
