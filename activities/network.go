package activities

import (
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// network is the way of the checks out of their box.
type network struct {
	boxes *egress.Boxes // nil: none
	env   []string      // the variables that the checks see
}

// openNetwork opens the way to what the run lets its checks reach. The presets follow this worker's
// own variables, and the checks see those that name a registry.
func (a *Activities) openNetwork(in CheckInput) (network, error) {
	if len(in.Network) == 0 {
		return network{env: in.Env}, nil
	}
	targets, err := allow.Expand(in.Network, a.env)
	if err != nil {
		return network{}, report.Permanent(run.CodeSandbox, fmt.Errorf("network of the checks: %w", err))
	}
	env := slices.Concat(in.Env, allow.Variables(in.Network, a.env))
	return network{boxes: egress.NewBoxes(egress.Config{Targets: targets}), env: env}, nil
}

// recordReached notes what the checks reached.
func (n network) recordReached(e *Evaluation, out *Judgement) {
	if n.boxes == nil {
		return
	}
	traffic := n.boxes.Traffic()
	e.Network, out.Network = &traffic, report.Summary(traffic.String())
}
