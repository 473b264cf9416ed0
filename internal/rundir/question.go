package rundir

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

const answerHeading = "\n## Answer\n\n"

// keepQuestions writes ask/iter-NNNN.md for each raised question, and adds the
// answer to it once there is one.
func (d *Dir) keepQuestions(events []run.Event) error {
	for _, e := range events {
		var err error
		switch p := e.Payload.(type) {
		case run.QuestionRaised:
			_, err = d.keepOnDisk(Content{questionArtifact(p.QuestionID), questionText(p)})
		case run.QuestionAnswered:
			name := questionArtifact(p.QuestionID)
			text, _, ferr := d.Find(name)
			if ferr != nil {
				text = nil // the answer is in the events all the same
			}
			text, _, _ = bytes.Cut(text, []byte(answerHeading))
			answer := run.Reply{Text: p.Text, Values: p.Values}.Render()
			_, err = d.keepOnDisk(Content{name, fmt.Appendf(text, "%s%s\n", answerHeading, answer)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// questionArtifact returns the name of a question's artifact. It takes the iteration
// and the number from the question's id.
func questionArtifact(id string) string {
	var iteration, n int
	if _, err := fmt.Sscanf(id, run.QuestionForm, &iteration, &n); err != nil {
		return Artifact(run.Ask, 0, 1, "md")
	}
	return Artifact(run.Ask, iteration, n, "md")
}

func questionText(p run.QuestionRaised) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.Question.Question)
	if p.Reason != "" {
		fmt.Fprintf(&b, "\n%s\n", p.Reason)
	}
	if len(p.NeededInput) > 0 {
		b.WriteString("\n## Needed\n\n")
	}
	for _, n := range p.NeededInput {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	return []byte(b.String())
}
