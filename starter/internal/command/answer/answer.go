// Package answer is the command `starter answer`.
package answer

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

func New(c *factory.Factory) *cobra.Command {
	var r run.Reply
	var alone bool // the text, without a run
	take := runref.OnOr(c, 1, func(ctx context.Context, f runref.Found, args []string) error {
		r.Text = args[0]
		if alone && namesRun(r.Text, f.ID) {
			return usage.Errorf("%s is the name of a run: give the answer, too", display.Line(r.Text))
		}
		if strings.TrimSpace(r.Text) == "" {
			return usage.Errorf("the answer is empty")
		}
		p, err := f.Pending(ctx, f.ID)
		if err != nil {
			return err
		}
		if r.QuestionID == "" && p.Question == nil {
			return waits.Not("answer", p)
		}
		if q := p.Question; q != nil && (r.QuestionID == "" || r.QuestionID == q.QuestionID) {
			r.QuestionID = q.QuestionID
			if err := readWord(c, &r, f, *q); err != nil {
				return err
			}
		}
		if err := f.Reply(ctx, f.ID, r); err != nil {
			return waits.Refused(c, f, err)
		}
		return waits.PrintAccepted(c, f, r.QuestionID, "answered")
	}, run.AwaitingInput)
	cmd := &cobra.Command{
		Use:   "answer [RUN] TEXT",
		Short: "Answer the question that a run waits with",
		Long: `Answers the run's question. The phase that asked continues with the answer in its
prompt; after a question of the evaluator a fix does, which --max-fix does not
count. When a check could not run, any answer runs the checks again, and one that
begins with "fix:" starts a fix instead. After an error "retry" repeats the
step, and no prompt carries a word of it. When the checks cannot run before the
start, the answer is "again", "without" or "stop". A question about a budget is
answered with the new total, or with "stop". What an answer leads to is in
"status".`,
		Example:           "  starter answer slug#14 'round half up, as the invoice does'\n  starter answer slug#14 200000 --question qst-2-1\n  starter answer slug#14 'fix: call python3, there is no python here'",
		Args:              usage.ArgsBetween(1, 2, "perhaps a RUN, and the answer as one argument"),
		ValidArgsFunction: runref.CompleteOf(c, runref.AwaitsInput),
		RunE: func(cmd *cobra.Command, args []string) error {
			alone = len(args) == 1
			return take(cmd, args)
		},
	}
	cmd.Flags().StringVar(&r.QuestionID, "question", "", "`id` of the question; default: the pending one")
	byflag.Add(c, cmd.Flags(), &r.By, "`name` of who answers")
	return cmd
}

// leastOfID is the length from which on the beginning of a run's id is no answer. A shorter one may be a word.
const leastOfID = 8

// namesRun reports whether the only argument names a run instead of answering this one: it looks like a run's name, or it
// is or begins the id of this run or of its workflow. A whole number is an answer, for example about a budget, although
// an id may begin with it.
func namesRun(text string, id run.ID) bool {
	text = strings.TrimSpace(text)
	if _, ok := run.ParseName(text); ok {
		return true
	}
	if strings.Trim(text, "0123456789") == "" {
		return false
	}
	of, isWorkflow := run.IDOf(text)
	return isPartOf(text, id) || isWorkflow && isPartOf(string(of), id)
}

func isPartOf(text string, id run.ID) bool {
	return text == string(id) || len(text) >= leastOfID && strings.HasPrefix(string(id), text)
}

// readWord reads the answers that are no text: retry, after an error, and cancel, which is no answer.
func readWord(c *factory.Factory, r *run.Reply, f runref.Found, q run.PendingQuestion) error {
	switch word := strings.ToLower(strings.TrimSpace(r.Text)); {
	case word == "retry" && q.Kind.Repeats():
		r.Text, r.Retry = "", true
	case word == "cancel" && q.Kind != run.BaselineQuestion:
		return usage.Errorf("%q would be sent as an answer: end the run with `%s`, or say more than the word", r.Text, c.Hint("cancel %s", f.ShownName()))
	}
	return nil
}
