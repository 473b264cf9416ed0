package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// The numbers under a label are claimed by signals to one workflow. No worker serves it: the history of its
// signals, which the engine orders and keeps for as long as the workflow is open, is the list of the claims,
// and run.Numbers makes the numbers of it. So two claims never get one number, a claim whose run was never
// started leaves a gap, and a name needs no worker.
const (
	namesType   = "Names"
	namesQueue  = "ratchet-names" // served by no worker
	namesPrefix = "names-"
	claimSignal = "claim"
)

// maxSeries bounds the workflows of one label. The engine takes 10,000 signals in each.
const maxSeries = 100

// ErrNoName reports that the engine has no number for a run.
var ErrNoName = errors.New("no number is left for its name")

// namesID returns the id of the workflow of a label's claims. A full one is followed by the next.
func namesID(label string, series int) string {
	if series == 0 {
		return namesPrefix + label
	}
	return fmt.Sprintf("%s%s.%d", namesPrefix, label, series+1)
}

// ClaimName gives a run a name under the label and returns it. A repeated call returns the same name, unless
// the claim has to exceed it. The run need not exist yet.
func (c *Client) ClaimName(ctx context.Context, label string, claim run.Claim) (run.Name, error) {
	if label == "" {
		return "", ErrNoName
	}
	numbers, err := c.claimNumber(ctx, label, claim)
	if err != nil {
		return "", fmt.Errorf("claim a name for run %s: %w", claim.RunID, err)
	}
	number := numbers.Of(claim.RunID)
	if number <= claim.Above || claim.Number > 0 && number != claim.Number {
		return "", fmt.Errorf("claim a name for run %s: %w", claim.RunID, ErrNoName)
	}
	return run.NewName(label, number), nil
}

// claimNumber signals the claim to the last workflow of the label, and to the next one when that is full. An earlier one
// gets no claim again, even if its engine takes more by now: the numbers of the later ones would change.
func (c *Client) claimNumber(ctx context.Context, label string, claim run.Claim) (numbers run.Numbers, err error) {
	series, err := c.lastSeries(ctx, label)
	if err != nil {
		return numbers, err
	}
	for err = c.sendClaim(ctx, label, series, claim); isFull(err); err = c.sendClaim(ctx, label, series, claim) {
		if series++; series == maxSeries {
			return numbers, ErrNoName
		}
	}
	if err != nil {
		return numbers, err
	}
	return c.readNumbers(ctx, label)
}

// lastSeries returns the last workflow of a label; zero if there is none.
func (c *Client) lastSeries(ctx context.Context, label string) (series int, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for ; series < maxSeries-1; series++ {
		_, err := c.temporal.DescribeWorkflowExecution(ctx, namesID(label, series+1), "")
		if _, none := errors.AsType[*serviceerror.NotFound](err); none {
			return series, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return series, nil
}

func (c *Client) sendClaim(ctx context.Context, label string, series int, claim run.Claim) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.temporal.SignalWithStartWorkflow(ctx, namesID(label, series), claimSignal, claim, client.StartWorkflowOptions{
		TaskQueue:     namesQueue,
		StaticSummary: "The numbers of the runs of " + page.OfLine(label),
		StaticDetails: "The signals of this workflow are the claims to the numbers of the names of runs. No worker serves it, and it stays open: " +
			"the engine keeps the claims in their order, and a number is the place of its claim.",
	}, namesType)
	return err
}

// isFull reports whether the engine takes no more signals for a workflow.
func isFull(err error) bool {
	refused, ok := errors.AsType[*serviceerror.InvalidArgument](err)
	return ok && strings.Contains(strings.ToLower(refused.Message), "signal")
}

// readClaims adds the claims of a workflow to the numbers. The error matches *serviceerror.NotFound if there
// is none.
func (c *Client) readClaims(ctx context.Context, id string, numbers *run.Numbers) error {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	history := c.temporal.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return err
		}
		signal := event.GetWorkflowExecutionSignaledEventAttributes()
		if signal.GetSignalName() == claimSignal {
			numbers.Add(temporalclient.PayloadValue[run.Claim](firstPayload(signal.GetInput())))
		}
	}
	return nil
}

func firstPayload(p *common.Payloads) *common.Payload {
	if len(p.GetPayloads()) == 0 {
		return nil
	}
	return p.GetPayloads()[0]
}

// readNumbers returns the numbers under a label, none if the engine has no claims of it.
func (c *Client) readNumbers(ctx context.Context, label string) (numbers run.Numbers, err error) {
	for series := range maxSeries {
		err := c.readClaims(ctx, namesID(label, series), &numbers)
		if _, none := errors.AsType[*serviceerror.NotFound](err); none {
			return numbers, nil
		}
		if err != nil {
			return numbers, fmt.Errorf("read the names of %s: %w", label, err)
		}
	}
	return numbers, nil
}

// nameLabels returns the labels of the engine's names.
func (c *Client) nameLabels(ctx context.Context) (labels []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	query := fmt.Sprintf("WorkflowType = '%s' AND %s", namesType, temporalclient.OpenTerm)
	for info, err := range temporalclient.Executions(ctx, c.temporal, query, 0) {
		if err != nil {
			return nil, fmt.Errorf("list the names: %w", err)
		}
		label, ok := strings.CutPrefix(info.GetExecution().GetWorkflowId(), namesPrefix)
		if ok && !strings.Contains(label, ".") {
			labels = append(labels, label)
		}
	}
	return labels, nil
}

// findNamed returns the run that has a name.
func (c *Client) findNamed(ctx context.Context, name run.Name) (run.ID, error) {
	numbers, err := c.readNumbers(ctx, name.Label())
	if err != nil {
		return "", err
	}
	id := numbers.Run(name.Number())
	if id == "" && c.Named != nil {
		id, _ = c.Named(name)
	}
	if id == "" {
		return "", &NotFoundError{string(name)}
	}
	return id, nil
}

// findNumbered returns the run that has a number: under the label of the caller's repository, else under the
// only label that has it. The error is a *NotFoundError if none has.
func (c *Client) findNumbered(ctx context.Context, number int) (run.ID, error) {
	if c.Here != nil {
		if label := c.Here(ctx); label != "" {
			if id, err := c.findNamed(ctx, run.NewName(label, number)); err == nil {
				return id, nil
			}
		}
	}
	labels, err := c.nameLabels(ctx)
	if err != nil {
		return "", err
	}
	var ids []run.ID
	var names []string
	for _, label := range labels {
		name := run.NewName(label, number)
		id, err := c.findNamed(ctx, name)
		if _, missing := errors.AsType[*NotFoundError](err); missing {
			continue
		}
		if err != nil {
			return "", err
		}
		ids, names = append(ids, id), append(names, string(name))
	}
	switch len(ids) {
	case 0:
		return "", &NotFoundError{fmt.Sprint(number)}
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("%d runs have the number %d: say which, %s", len(ids), number, strings.Join(names, " or "))
}
