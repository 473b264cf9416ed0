// Package prompt writes what a provider is told: the system prompt of a role,
// the user prompt of one call, and the files that go with it. It is pure: the
// same facts give the same bytes. What the user did not say is fenced and
// labelled as data; files that may hold secrets never go out.
package prompt

import (
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// In is all that a prompt is made from.
type In struct {
	Role      run.Role
	Iteration int
	// RemainingFixes is how many fixes may follow this call that no person asks for.
	RemainingFixes int
	Goal           string
	Plan           string // Markdown; empty for the planner
	// Guidance is what people and earlier attempts said, oldest first.
	Guidance []run.Guidance
	Checks   []string // the commands that will judge
	Report   []Check  // the last check report; nil when there is none
	// Problem is why a fixer is called: a refusal, a rejection, a verdict. It
	// need not repeat Guidance or Report. Refused is the patch or the answer that
	// was not taken; empty when none was.
	Problem string
	Refused string
	// Lost names what the record has lost that would be here: the plan, say.
	Lost []string
	Diff string     // the branch against its base as git writes it; empty when nothing changed
	Head run.Commit // the tip of the branch

	// Files are all files at Head, relative to where patches apply. Read returns
	// the bytes of one and follows no link; a file that it fails for is left out.
	Files []File
	Read  func(path string) ([]byte, error)
	// Mentioned are those of Files that failing checks point at.
	Mentioned []string
	// Budget is how many bytes the artifacts may have together. Zero means
	// DefaultBudget; a negative one sends none, for a provider that reads the
	// work tree itself.
	Budget int
	// Edits says that the provider is an agent that reads and changes the files
	// in a checkout of its own: no file is sent.
	Edits bool
	// Explores says that the provider can read files that were not sent.
	Explores bool
}

// DefaultBudget is the budget of a call that does not say.
const DefaultBudget = 128 << 10

// File is one file of the repository.
type File struct {
	Path    string // slash-separated
	Size    int64  // bytes
	Symlink bool   // listed, never read
}

// Check is how one check ended.
type Check struct {
	Command string
	Passed  bool
	Outcome string // in words: "exit code 1", "timed out after 3m0s"
	Head    string // the beginning of its output
	Tail    string // the end of it, without what Head has
	Bytes   int64  // of the whole output
}

// Prompt is what goes to a provider.
type Prompt struct {
	System    string
	User      string
	Artifacts []Artifact
	// LeftOut says which files that the run points at were not sent, or not
	// whole, and why. The user prompt says it too.
	LeftOut []string
}

// Artifact is one piece of context. A file has its exact bytes, from its
// beginning; Name says when it is not whole.
type Artifact struct {
	Name    string
	Path    string // empty when it is no file
	Content string
}

// Build writes the prompt of one call. Role must be one of run.Roles.
func Build(in In) Prompt {
	if in.Edits {
		in.Budget = -1
	}
	diff := readDiff(in.Diff)
	chosen := choose(in, diff.paths)
	return Prompt{
		System:    system(in.Role, in.Edits),
		User:      user(in, diff, chosen),
		Artifacts: chosen.artifacts,
		LeftOut:   chosen.leftOut,
	}
}

// Message is the artifacts and the user prompt in one text, for providers that
// take the system prompt apart.
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

// Flatten is the whole prompt in one text, for providers that take one.
func (p Prompt) Flatten() string {
	return "[SYSTEM]\n\n" + p.System + "\n[USER]\n\n" + p.Message()
}
