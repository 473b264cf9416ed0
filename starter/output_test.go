package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// failing takes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestAnOutputThatIsCutOffIsAnError(t *testing.T) {
	full := fmt.Errorf("write /dev/stdout: %w", syscall.ENOSPC)
	const says = "starter: the output is cut off: write /dev/stdout: no space left on device\n"
	for _, tt := range []struct {
		name string
		out  io.Writer
		err  error // of the command
		code int
		says string
	}{
		{"all is written", io.Discard, nil, 0, ""},
		{"a full disk", failing{full}, nil, 1, says},
		{"a reader that has gone", failing{fmt.Errorf("write: %w", syscall.EPIPE)}, nil, 0, ""},
		{"a full disk for a run that waits", failing{full}, &statusError{run.AwaitingApproval}, 3, says},
		{"a full disk for a wrong command line", failing{full}, usageErrorf("no goal"), 2, "starter: no goal\n" + says},
	} {
		for way, print := range map[string]func(*cli){
			"by lines":    func(c *cli) { c.printf("a patch\n"); c.printf("the rest\n") },
			"on a screen": func(c *cli) { c.screenOn(c.out).Line("a patch") },
			"wrapped":     func(c *cli) { c.printWrapped("a patch") },
		} {
			t.Run(tt.name+" "+way, func(t *testing.T) {
				var said bytes.Buffer
				c := newCLI(console{in: strings.NewReader(""), out: tt.out, err: &said, environ: os.Environ(), now: time.Now})
				c.runsDir = t.TempDir()
				cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
				cmd.RunE = c.handleWith(func(context.Context, []string) error { print(c); return tt.err })
				if code := c.executeCommand(t.Context(), cmd); code != tt.code || said.String() != tt.says {
					t.Errorf("code %d, want %d: %q, want %q", code, tt.code, said.String(), tt.says)
				}
			})
		}
	}
}
