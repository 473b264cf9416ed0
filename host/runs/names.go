package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
)

// lastNumber returns the highest number among the latest runs of the label that the engine lists; zero if it lists none.
func (c *Client) lastNumber(ctx context.Context, label string) (last int, err error) {
	const latest = 20
	found, err := c.listRuns(ctx, fmt.Sprintf("WorkflowType = '%s' AND %s STARTS_WITH '%s#'", workflowType, attribute.NameName, label), latest)
	for _, l := range found {
		last = max(last, l.Name.Number())
	}
	return last, err
}

// findNumbered returns the run that has a number: under the label of the caller's repository, else under the only label of
// this host's runs that has it. The error is a *NotFoundError if none has.
func (c *Client) findNumbered(ctx context.Context, number int) (run.ID, error) {
	word := fmt.Sprint(number)
	if c.Here != nil {
		if label := c.Here(ctx); label != "" {
			id, err := c.findNamed(ctx, word, run.NewName(label, number))
			if _, missing := errors.AsType[*NotFoundError](err); !missing {
				return id, err
			}
		}
	}
	return c.findNamed(ctx, word, rundir.NamesNumbered(c.RunsDir, number)...)
}

// findNamed returns the only run that has one of the names. Word is what the caller was given. Two hosts that share a
// server may give one name to two runs: the error then lists the ids.
func (c *Client) findNamed(ctx context.Context, word string, names ...run.Name) (run.ID, error) {
	if len(names) == 0 {
		return "", &NotFoundError{word}
	}
	found, err := c.listNamed(ctx, names)
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", &NotFoundError{word}
	case 1:
		return found[0].ID, nil
	}
	times := map[run.Name]int{}
	for _, l := range found {
		times[l.Name]++
	}
	var choices []string
	for _, l := range found {
		if times[l.Name] > 1 {
			choices = append(choices, string(l.ID))
		} else {
			choices = append(choices, string(l.Name))
		}
	}
	return "", fmt.Errorf("%d runs match %s: name one of them, %s", len(found), word, strings.Join(choices, " or "))
}

// listNamed returns the runs that have one of the names. The engine's list is a little late, so a run that was named on
// this host is asked about by its id. Where the engine knows none, the runs are those that were named on this host.
func (c *Client) listNamed(ctx context.Context, names []run.Name) ([]Listed, error) {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, quoteValue(string(name)))
	}
	found, err := c.listRuns(ctx, fmt.Sprintf("WorkflowType = '%s' AND %s IN (%s)", workflowType, attribute.NameName, strings.Join(quoted, ", ")), 0)
	if err != nil {
		return nil, err
	}
	var unknown []Listed
	for _, name := range names {
		id, ok := rundir.RunNamed(c.RunsDir, name)
		if !ok || slices.ContainsFunc(found, func(l Listed) bool { return l.ID == id }) {
			continue
		}
		_, err := c.Describe(ctx, id)
		if _, none := errors.AsType[*NotFoundError](err); none {
			unknown = append(unknown, Listed{ID: id, Name: name})
		} else if err != nil {
			return nil, err
		} else {
			found = append(found, Listed{ID: id, Name: name})
		}
	}
	if len(found) == 0 {
		return unknown, nil
	}
	return found, nil
}
