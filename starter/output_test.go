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
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
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
		{"a full disk for a run that waits", failing{full}, &exit.StatusError{Status: run.AwaitingApproval}, 3, says},
		{"a full disk for a wrong command line", failing{full}, usage.Errorf("no goal"), 2, "starter: no goal\n" + says},
	} {
		for way, print := range map[string]func(*factory.Factory){
			"by lines":    func(c *factory.Factory) { c.Printf("a patch\n"); c.Printf("the rest\n") },
			"on a screen": func(c *factory.Factory) { c.ScreenOn(c.Out).Line("a patch") },
			"wrapped":     func(c *factory.Factory) { c.PrintWrapped("a patch") },
		} {
			t.Run(tt.name+" "+way, func(t *testing.T) {
				var said bytes.Buffer
				c := newFactory(console.Console{In: strings.NewReader(""), Out: tt.out, Err: &said, Environ: os.Environ(), Now: time.Now})
				c.RunsDir = t.TempDir()
				cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
				cmd.RunE = c.Handle(func(context.Context, []string) error { print(c); return tt.err })
				if code := executeCommand(t.Context(), c, cmd); code != tt.code || said.String() != tt.says {
					t.Errorf("code %d, want %d: %q, want %q", code, tt.code, said.String(), tt.says)
				}
			})
		}
	}
}
