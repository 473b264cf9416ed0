package agent_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

var readAt = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

func TestAReadProvesTheEpoch(t *testing.T) {
	s := delivery.Session{ID: "s", Thread: "t", Epoch: 7}
	s.Activity.Revision, s.Capabilities.Revision, s.Permissions.Revision = 3, 4, 5
	plain := agent.ActiveTurn{ID: "u", Kind: delivery.RegularTurn}
	for name, tc := range map[string]struct {
		read     agent.Thread
		activity delivery.Activity
		risk     delivery.Risk
	}{
		"idle":                    {agent.Thread{ID: "t", Status: "idle", Allows: &delivery.Allows{}}, delivery.IdleThread, delivery.UnknownRisk},
		"idle with a turn":        {agent.Thread{ID: "t", Status: "idle", Active: []agent.ActiveTurn{plain}}, delivery.UnknownActivity, delivery.UnknownRisk},
		"active":                  {agent.Thread{ID: "t", Status: "active", Active: []agent.ActiveTurn{plain}, Allows: &delivery.Allows{}}, delivery.ActiveThread, delivery.LowRisk},
		"active, and may write":   {agent.Thread{ID: "t", Status: "active", Active: []agent.ActiveTurn{plain}, Allows: &delivery.Allows{Write: true}}, delivery.ActiveThread, delivery.MixedRisk},
		"active without a policy": {agent.Thread{ID: "t", Status: "active", Active: []agent.ActiveTurn{plain}}, delivery.ActiveThread, delivery.UnknownRisk},
		"notLoaded":               {agent.Thread{ID: "t", Status: "notLoaded"}, delivery.UnknownActivity, delivery.UnknownRisk},
		"systemError":             {agent.Thread{ID: "t", Status: "systemError"}, delivery.UnknownActivity, delivery.UnknownRisk},
	} {
		p := tc.read.Prove(s, delivery.Capabilities{TurnStart: true, Revision: 99, Epoch: 99})
		if *p.Activity != (delivery.ActivityProof{Epoch: 7, Revision: 4, Activity: tc.activity}) {
			t.Errorf("%s: activity %+v", name, p.Activity)
		}
		if *p.Capabilities != (delivery.Capabilities{Epoch: 7, Revision: 5, TurnStart: true}) || p.Permissions.Epoch != 7 ||
			p.Permissions.Revision != 6 || p.Permissions.Current != tc.read.Allows || p.Session != "s" || p.Epoch != 7 {
			t.Errorf("%s: proof %+v", name, p)
		}
		if v := p.View; v.Risk() != tc.risk || v.Thread != "t" || v.Session != "s" || v.Epoch != 7 {
			t.Errorf("%s: view %+v", name, v)
		}
	}
}

func TestAReadReconciles(t *testing.T) {
	marked := delivery.Marked{Marker: "m", Turn: "u", First: true, At: readAt, Session: "s", Epoch: 7, Read: true}
	done := delivery.TurnSeen{Turn: "u", What: delivery.TurnCompleted, At: readAt, Session: "s", Epoch: 7, Read: true}
	for name, tc := range map[string]struct {
		turns []agent.ThreadTurn
		want  []delivery.Payload
	}{
		"completed":             {[]agent.ThreadTurn{{ID: "u", Status: "completed", Ended: true, Markers: []string{"m"}}}, []delivery.Payload{marked, done}},
		"in progress":           {[]agent.ThreadTurn{{ID: "u", Status: "inProgress", Markers: []string{"m"}}}, []delivery.Payload{marked}},
		"an end without a time": {[]agent.ThreadTurn{{ID: "u", Status: "interrupted", Markers: []string{"m"}}}, []delivery.Payload{marked}},
		"in two turns":          {[]agent.ThreadTurn{{ID: "u", Status: "completed", Ended: true, Markers: []string{"m"}}, {ID: "v", Markers: []string{"m"}}}, nil},
		"nowhere":               {[]agent.ThreadTurn{{ID: "u", Status: "completed", Ended: true, Markers: []string{"n", ""}}}, nil},
	} {
		got := agent.Thread{Turns: tc.turns}.Reconcile("m", "s", 7, readAt)
		if len(got) != len(tc.want) || len(got) > 0 && !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
