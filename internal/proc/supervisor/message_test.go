package supervisor_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

// nonce is that of the reports here.
const nonce = "N"

func TestReportSurvivesItsLine(t *testing.T) {
	for _, want := range []supervisor.Report{{}, {Status: 0x7f00}, {Errno: 2, Status: 0x7f00, Left: 3, Stopped: true}, {Stopped: true}} {
		if got, err := supervisor.ReadReport(want.Line(nonce), nonce, want.ExitCode()); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

// Finding B4.
func TestReportThatIsRefused(t *testing.T) {
	good, bad := supervisor.Report{}, supervisor.Report{Status: 256}
	line := good.Line(nonce)
	for name, test := range map[string]struct {
		text string
		code int
	}{
		"none":                                   {"", good.ExitCode()},
		"something else":                         {"x", good.ExitCode()},
		"half a line":                            {line[:len(line)/2], good.ExitCode()},
		"a line without its end":                 {strings.TrimSuffix(line, "\n"), good.ExitCode()},
		"another nonce":                          {good.Line("M"), good.ExitCode()},
		"no nonce":                               {good.Line(""), good.ExitCode()},
		"two lines":                              {line + line, good.ExitCode()},
		"a good line before the bad one":         {line + bad.Line(nonce), bad.ExitCode()},
		"a good line before a bad one of others": {line + bad.Line(nonce), good.ExitCode()},
		"a bad line before the good one":         {bad.Line(nonce) + line, good.ExitCode()},
		"a bad line before a good one of others": {bad.Line(nonce) + line, bad.ExitCode()},
		"more words":                             {strings.Replace(line, "status=0", "status=0 status=0", 1), good.ExitCode()},
		"a pass where the supervisor says no":    {line, bad.ExitCode()},
		"a failure where it says pass":           {bad.Line(nonce), good.ExitCode()},
		"a pass of one that was told to stop":    {line, supervisor.Report{Stopped: true}.ExitCode()},
		"a pass of a program that never ran":     {line, supervisor.Report{Errno: 2}.ExitCode()},
		"a pass of a supervisor that crashed":    {line, 2},
		"a pass of a supervisor that ended well": {line, 0},
	} {
		if got, err := supervisor.ReadReport(test.text, nonce, test.code); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestOrderSurvivesItsMessage(t *testing.T) {
	for _, env := range [][]string{{}, {"A=1"}, {"A=", "", "B=\xff\n"}} {
		want, rest := supervisor.Order{Nonce: nonce, Env: env}, "not ours"
		r := io.MultiReader(bytes.NewReader(want.Encode()), strings.NewReader(rest))
		got, err := supervisor.ReadOrder(r)
		if err != nil || got.Nonce != want.Nonce || !slices.Equal(got.Env, want.Env) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if left, _ := io.ReadAll(r); string(left) != rest {
			t.Errorf("%q is left to read", left)
		}
	}
}

func TestBrokenOrderIsRefused(t *testing.T) {
	whole := supervisor.Order{Nonce: nonce, Env: []string{"A=1"}}.Encode()
	for _, message := range [][]byte{
		nil, whole[:2], whole[:len(whole)-1], {0xff, 0xff, 0xff, 0xff, 'A'}, supervisor.Order{}.Encode(), {0, 0, 0, 1, 'N'}, {0, 0, 0, 0},
	} {
		if got, err := supervisor.ReadOrder(bytes.NewReader(message)); err == nil {
			t.Errorf("%q: got %+v", message, got)
		}
	}
}
