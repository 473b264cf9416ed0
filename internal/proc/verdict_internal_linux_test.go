package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

// pretender is a script in the place of a supervisor.
func pretender(t *testing.T, script string) *supervised {
	t.Helper()
	report, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { report.Close() })
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.ExtraFiles = []*os.File{write, write}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	cmd.Wait()
	return &supervised{cmd: cmd, order: supervisor.Order{Nonce: "N"}, report: report}
}

// Finding B4: a supervisor that ends otherwise than it reports.
func TestVerdict(t *testing.T) {
	const pass, fail = "echo errno=0 status=0 left=0 told=false nonce=N >&4;", "echo errno=0 status=256 left=0 told=false nonce=N >&4;"
	const told = "echo errno=0 status=15 left=0 told=true nonce=N >&4;"
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx    context.Context
		script string
		want   supervisor.Report
		lost   bool
	}{
		"a pass":                                {t.Context(), pass + "exit 65", supervisor.Report{}, false},
		"a failure":                             {t.Context(), fail + "exit 66", supervisor.Report{Status: 256}, false},
		"told by us":                            {canceled, told + "exit 67", supervisor.Report{Status: 15, Stopped: true}, false},
		"told by us before it began":            {canceled, "exit 64", supervisor.Report{Status: 15, Stopped: true}, false},
		"told by somebody else":                 {t.Context(), told + "exit 67", supervisor.Report{}, true},
		"told by somebody else before it began": {t.Context(), "exit 64", supervisor.Report{}, true},
		"killed after a good report":            {t.Context(), pass + "kill -KILL $$", supervisor.Report{}, true},
		"a failure that says pass":              {t.Context(), pass + "exit 66", supervisor.Report{}, true},
		"a pass that says failure":              {t.Context(), fail + "exit 65", supervisor.Report{}, true},
		"no report":                             {t.Context(), "exit 65", supervisor.Report{}, true},
		"two":                                   {t.Context(), pass + pass + "exit 65", supervisor.Report{}, true},
		"more than any":                         {t.Context(), pass + "head -c 600 /dev/zero >&4; exit 65", supervisor.Report{}, true},
		"a report whose end is held open by another": {t.Context(), pass + "(sleep 5; :) 3>&- >/dev/null & exit 65", supervisor.Report{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pretender(t, test.script).verdict(test.ctx)
			if errors.Is(err, ErrLost) != test.lost || err == nil && got != test.want {
				t.Errorf("got %+v, %v; want %+v, lost %t", got, err, test.want, test.lost)
			}
		})
	}
}
