package runs_test

import (
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host/runs"
)

// People read of each activity of a run in words, and of one of a later worker by its name.
func TestEachActivityHasWordsForPeople(t *testing.T) {
	all := reflect.TypeFor[*activities.Activities]()
	for i := range all.NumMethod() {
		name := all.Method(i).Name
		if name == "Agents" || name == "Probe" || name == "Mirror" { // of other workflows
			continue
		}
		if step := (runs.Activity{Name: name}).Step(); step == name {
			t.Errorf("%s has no words", name)
		}
	}
	if step := (runs.Activity{Name: "Later"}).Step(); step != "Later" {
		t.Errorf("got %q", step)
	}
}
