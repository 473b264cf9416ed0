package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

func TestWhoLosesADispatchIsToldWhereToLook(t *testing.T) {
	const target dispatch.GardenID = "20260612T101500-3f2a9c"
	const where = "starter dispatches " + string(target)
	lost := func(cause error) error {
		return fmt.Errorf("asked: %w", &dispatches.CutOffError{Workflow: "w", Taken: true, Cause: cause})
	}
	for _, row := range []struct {
		name string
		err  error
		told int // how often
	}{
		{"an interrupt", lost(context.Canceled), 1},
		{"a lost engine", lost(errors.New("unavailable")), 1},
		{"a dispatch that never was", errors.New("no worker"), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var said bytes.Buffer
			c := factory.New(console.Console{Err: &said}, nil)
			c.RunsDir = c.DefaultRunsDir()
			err := cutOff(c, target, row.err)
			if !errors.Is(err, row.err) {
				t.Error(err)
			}
			if all := said.String() + exit.Complaint(err); strings.Count(all, where) != row.told {
				t.Errorf("it says %s", all)
			}
		})
	}
}
