package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// A run that goes on from another begins with what was said there, and with nothing else of it.
func TestARunGoesOnFromAnother(t *testing.T) {
	first := run.New(validInput())
	first.Input.CacheReadOnly = true
	first.Input.Name, first.Head = "slug#12", "1111111111111111111111111111111111111111"
	first.Guidance = []run.Guidance{{Kind: run.FromRejection, Iteration: 2, Text: "keep the API"}}
	in := first.GoOn("and mind the gap")
	in.RunID = "01a2023d-7d1f-7c3a-9b51-000000000002"
	if err := in.Validate(); err != nil {
		t.Fatal(err)
	}
	if in.Repository.Base != first.Head || in.Name != "" || in.Before.Name != "slug#12" || in.Before.Base != first.Input.Repository.Base || len(first.Guidance) != 1 {
		t.Errorf("%+v, before %+v", in, in.Before)
	}
	second := run.New(in)
	if err := second.Apply(second.Event(time.Unix(1, 0), run.RunCreated{Input: in, Format: run.Format})); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, g := range second.Guidance {
		said = append(said, g.Text)
	}
	if strings.Join(said, "; ") != "keep the API; and mind the gap" || second.Fixes != 0 || second.Usage != (run.Usage{}) {
		t.Errorf("%v, %+v", said, second.State)
	}
	second.Guidance[0].Text = "changed"
	if in.Before.Guidance[0].Text != "keep the API" {
		t.Error("the input shares its guidance with the snapshot")
	}
	third := second.GoOn("")
	if !third.CacheReadOnly {
		t.Error("the third keeps what its checks build")
	}
	if third.Before.Base != first.Input.Repository.Base || third.Before.RunID != in.RunID {
		t.Errorf("the third begins at %+v", third.Before)
	}
}

func TestWhatARunCarriesIsBounded(t *testing.T) {
	for name, change := range map[string]func(*run.Before){
		"itself":                func(b *run.Before) { b.RunID = anID },
		"an id that is a path":  func(b *run.Before) { b.RunID = "../x" },
		"no base":               func(b *run.Before) { b.Base = "" },
		"an unknown kind":       func(b *run.Before) { b.Guidance[0].Kind = "system" },
		"more than prompts fit": func(b *run.Before) { b.Guidance[0].Text = strings.Repeat("x", 17<<10) },
	} {
		in := validInput()
		in.Before = &run.Before{RunID: "other", Base: "0123456789012345678901234567890123456789", Guidance: []run.Guidance{{Kind: run.FromNote, Text: "x"}}}
		if err := in.Validate(); err != nil {
			t.Fatal(err)
		}
		if change(in.Before); in.Validate() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
