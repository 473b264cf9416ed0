package supervisor_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

func TestReportSurvivesItsLine(t *testing.T) {
	want := supervisor.Report{Errno: 2, Status: 0x7f00, Left: 3, Told: true}
	if got, err := supervisor.ParseReport(want.String()); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestBrokenReportIsNone(t *testing.T) {
	whole := supervisor.Report{Status: 256}.String()
	for _, line := range []string{"", "x", whole[:len(whole)/2]} {
		if got, err := supervisor.ParseReport(line); err == nil {
			t.Errorf("%q: got %+v", line, got)
		}
	}
}

func TestEnvironSurvivesItsMessage(t *testing.T) {
	for _, want := range [][]string{{}, {"A=1"}, {"A=", "", "B=\xff\n"}} {
		rest := "not ours"
		r := io.MultiReader(bytes.NewReader(supervisor.EncodeEnviron(want)), strings.NewReader(rest))
		got, err := supervisor.DecodeEnviron(r)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		if left, _ := io.ReadAll(r); string(left) != rest {
			t.Errorf("%q is left to read", left)
		}
	}
}

func TestBrokenEnvironIsRefused(t *testing.T) {
	whole := supervisor.EncodeEnviron([]string{"A=1"})
	for _, message := range [][]byte{nil, whole[:2], whole[:len(whole)-1], {0xff, 0xff, 0xff, 0xff, 'A'}} {
		if got, err := supervisor.DecodeEnviron(bytes.NewReader(message)); err == nil {
			t.Errorf("%q: got %q", message, got)
		}
	}
}
