package main

import (
	"context"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/starter/internal/adrift"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

func findAdrift(ctx context.Context, c *factory.Factory, client *runs.Client) finding {
	f := finding{Name: "records"}
	ids, err := adrift.Find(ctx, c, client)
	switch {
	case err != nil:
		f.Detail = err.Error()
	case len(ids) > 0:
		f.Detail = adrift.Text(c, ids)
	default:
		f.OK, f.Detail = true, "every run that is not over has its workflow"
	}
	return f
}
