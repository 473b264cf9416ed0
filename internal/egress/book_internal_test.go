package egress

import (
	"slices"
	"testing"
)

func TestEachRefusedTargetIsToldOnce(t *testing.T) {
	var told []string
	b := book{tell: func(target string) { told = append(told, target) }}
	for _, target := range []string{"a:1", "a:1", "", "b\x1b:2", "a:1"} {
		b.refuse(target, "not allowed")
	}
	if want := []string{"a:1", "b?:2"}; !slices.Equal(told, want) || b.traffic.RefusedCount() != 5 {
		t.Errorf("told of %q and counted %d, want %q and 5", told, b.traffic.RefusedCount(), want)
	}
}
