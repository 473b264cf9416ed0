// Package prompt writes the input of a provider: the system prompt of a role, the user prompt of one call,
// and the files that go with it. It is pure: the same facts give the same bytes. Text that the user did
// not write is fenced and labelled as data. Files that may hold secrets are never sent.
package prompt

import (
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// In holds everything that a prompt is made from.
type In struct {
	Role      run.Role
	Iteration int
	// RemainingFixes is the number of fixes that may follow this call without a person's request.
	RemainingFixes int
	Goal           string
	Plan           string // Markdown; empty for the planner
	// Guidance holds the words of people and of earlier attempts, oldest first.
	Guidance []run.Guidance
	Checks   []string // the commands that will judge
	Report   []Check  // the last check report; nil when there is none
	// Baseline is the report of the checks on the commit where the branch begins, before any change; nil
	// when there is none, or a later report.
	Baseline []Check
	// Problem is the reason for which a fixer is called: a refusal, a rejection, a verdict. It
	// need not repeat Guidance or Report. Refused is the patch or the answer that
	// was refused; empty if there is none.
	Problem string
	Refused string
	// Lost names the parts of this input that the record has lost, such as the plan.
	Lost []string
	Diff Diff       // the branch against its base; empty when nothing changed
	Head run.Commit // the tip of the branch

	// Files are all files at Head, relative to the directory where patches apply. Read returns
	// all bytes of one file, of MaxReadBytes at most, and follows no link. A file for which it fails is left out.
	Files []File
	Read  func(path string) ([]byte, error)
	// Mentioned are the members of Files that the output of failing checks names.
	Mentioned []string
	// Budget is the most bytes of all artifacts together. Zero means
	// DefaultBudget. A negative budget sends no artifact, for a provider that reads the
	// work tree itself.
	Budget int
	// Edits says that the provider is an agent that reads and changes the files
	// in a checkout of its own: no file is sent.
	Edits bool
	// Explores says that the provider can read files that were not sent.
	Explores bool
}

// DefaultBudget is the budget of a call that sets none.
const DefaultBudget = 128 << 10

// File is one file of the repository.
type File struct {
	Path string // slash-separated
	Size int64  // bytes
}

// Check is the result of one check.
type Check struct {
	Command string
	Passed  bool
	Outcome string // in words: "exit code 1", "timed out after 3m0s"
	Before  bool   // it failed in the same way before any change
	Head    string // the beginning of its output
	Tail    string // the end of its output, without the bytes in Head
	Bytes   int64  // of the whole output
}

// Prompt is the input of a provider.
type Prompt struct {
	System    string
	User      string
	Artifacts []Artifact
}

// Artifact is one piece of context. A file has its exact bytes, from its
// beginning; Name says when it is not whole.
type Artifact struct {
	Name    string
	Path    string // empty when it is not a file
	Content string
}

// Build writes the prompt of one call. Role must be one of run.Roles.
func Build(in In) Prompt {
	if in.Edits {
		in.Budget = -1
	}
	chosen := chooseFiles(in, in.Diff.Paths)
	return Prompt{
		System:    systemPrompt(in.Role, in.Edits),
		User:      userPrompt(in, chosen),
		Artifacts: chosen.artifacts,
	}
}

// Message returns the artifacts and the user prompt in one text, for providers that take the system prompt
// separately.
func (p Prompt) Message() string {
	if len(p.Artifacts) == 0 {
		return p.User
	}
	var b strings.Builder
	b.WriteString("# Artifacts\n\n")
	for _, a := range p.Artifacts {
		b.WriteString("## " + a.Name)
		if a.Content != "" && !strings.HasSuffix(a.Content, "\n") {
			b.WriteString(" (no line feed at the end)")
		}
		b.WriteString("\n\n" + Fence("", a.Content) + "\n")
	}
	return b.String() + p.User
}
