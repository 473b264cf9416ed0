package main

import (
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	shares, err := readShares(strings.NewReader("# comment\n40 worker\n\n12.5 internal/git\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		use  use
		want string // in the error; empty: none
	}{
		{"within its share and the tolerance", use{"worker", 79 * time.Second}, ""},
		{"above both", use{"worker", 81 * time.Second}, "worker took 81.0 CPU-s, its share is 40"},
		{"small", use{"internal/gate", 9 * time.Second}, ""},
		{"not named and not small", use{"internal/gate", 11 * time.Second}, "internal/gate took 11.0 CPU-s, its share is 5"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := judge([]use{row.use}, shares)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
	if err := judgeWhole(901 * time.Second); err == nil {
		t.Error("got no error for 901 s, want one")
	}
}

func TestSharesThatAreRefused(t *testing.T) {
	for _, text := range []string{"worker 40", "40", "0 worker", "4 worker\n5 worker"} {
		if shares, err := readShares(strings.NewReader(text)); err == nil {
			t.Errorf("%q: got %v, want an error", text, shares)
		}
	}
}
