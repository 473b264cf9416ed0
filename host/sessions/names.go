package sessions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// ExistsError reports an id that a session has already.
type ExistsError struct{ ID session.ID }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("session %s already exists: send it a message with `starter session say %s`, or use another --id", e.ID, e.ID)
}

// maxNames bounds the names that a start tries because others take them at the same moment.
const maxNames = 20

// Begin starts a session. One without an id gets the label of its repository and the first number above those in use, as
// in shop-2. The engine is the claim: it has each id once. Numbers whose sessions it has forgotten are those of the
// directories in the runs directory.
func (c Client) Begin(ctx context.Context, in *session.Input, runsDir string) error {
	if in.ID != "" {
		return c.Start(ctx, *in)
	}
	label := run.Label(in.Repository.Path)
	listed, err := c.listMatching(ctx, fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s'", workflowType, session.ID(label+"-").WorkflowID()), maxNames)
	if err != nil {
		return err
	}
	names, _ := file.Names(filepath.Join(runsDir, "sessions")) // a missing directory has no entries
	for _, l := range listed {
		names = append(names, string(l.ID))
	}
	last := 0
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, label+"-"); ok {
			n, _ := run.ParseNumber(rest)
			last = max(last, n)
		}
	}
	for range maxNames {
		last++
		in.ID = session.ID(fmt.Sprintf("%s-%d", label, last))
		if err = c.Start(ctx, *in); !errors.As(err, new(*ExistsError)) {
			return err
		}
	}
	return err
}

// findNumbered returns the session that has the number: of the caller's repository, or else the only open one.
func (c Client) findNumbered(ctx context.Context, number int) (session.ID, error) {
	end := fmt.Sprintf("-%d", number)
	if c.Here != nil {
		id := session.ID(c.Here(ctx) + end)
		if known, err := c.knowsSession(ctx, id); known || err != nil {
			return id, err
		}
	}
	open, err := c.List(ctx, false, maxNumbered)
	var found []string
	for _, l := range open {
		if strings.HasSuffix(string(l.ID), end) {
			found = append(found, string(l.ID))
		}
	}
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", &NotFoundError{end[1:]}
	case len(found) > 1:
		return "", fmt.Errorf("%d sessions have number %d: name one of them, %s", len(found), number, strings.Join(found, " or "))
	}
	return session.ID(found[0]), nil
}

// maxNumbered bounds the open sessions among which a number is looked for.
const maxNumbered = 500
