package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// NotesQuery is the query of a run's workflow for the notes that no prompt carries yet: []run.Note, in their order.
const NotesQuery = "notes"

// notesEvery is the interval at which the engine is asked whether the run's history has grown.
const notesEvery = time.Second

// watchNotes returns a channel of the notes that no prompt of the run of ctx carries yet, as provider.Work.Notes
// describes it. The run is asked only after its history has grown: a query of a run that the worker does not hold in
// memory reads all of that.
func watchNotes(ctx context.Context) <-chan []run.Note {
	notes := make(chan []run.Note)
	go func() {
		var w noteWatch
		tick := time.NewTicker(notesEvery)
		defer tick.Stop()
		for {
			if list := w.readNewNotes(ctx); list != nil {
				select {
				case notes <- list:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return notes
}

// noteWatch is how far the notes of a run were read.
type noteWatch struct {
	length int64 // of the run's history
	given  int
}

// readNewNotes returns the notes if there are more than at the last look. It returns nil where there are not, or where engine
// or run do not answer.
func (w *noteWatch) readNewNotes(ctx context.Context) []run.Note {
	length, err := historyLength(ctx)
	if err != nil || length == w.length {
		return nil
	}
	list, err := queryNotes(ctx)
	if err != nil {
		return nil
	}
	w.length = length
	if len(list) <= w.given {
		return nil
	}
	w.given = len(list)
	return list
}

func historyLength(ctx context.Context) (int64, error) {
	at := activity.GetInfo(ctx).WorkflowExecution
	asked, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	d, err := temporalclient.Describe(asked, activity.GetClient(ctx), at.ID, at.RunID)
	return d.GetWorkflowExecutionInfo().GetHistoryLength(), err
}

func queryNotes(ctx context.Context) (list []run.Note, err error) {
	at := activity.GetInfo(ctx).WorkflowExecution
	asked, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	value, err := activity.GetClient(ctx).QueryWorkflow(asked, at.ID, at.RunID, NotesQuery)
	if err != nil {
		return nil, err
	}
	return list, value.Get(&list)
}
