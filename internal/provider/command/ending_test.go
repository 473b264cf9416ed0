package command

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

func TestClassify(t *testing.T) {
	start := func(err error) error { return &proc.StartError{Program: "agent", Err: err} }
	exited := func(code int, signal string) proc.Result {
		return proc.Result{ExitCode: code, Signal: signal, End: proc.Exited}
	}
	tests := map[string]struct {
		end       ending
		code      failure.Code
		retriable bool
		says      string
	}{
		"success":                              {end: ending{result: exited(0, ""), said: "a warning"}},
		"a non-zero exit":                      {ending{result: exited(2, "")}, failure.Unknown, true, "exit code 2"},
		"a non-zero exit with a reason":        {ending{result: exited(1, ""), said: "no quota"}, failure.Unknown, true, "exit code 1: no quota"},
		"killed, out of memory perhaps":        {ending{result: exited(-1, "SIGKILL")}, failure.Unknown, true, "SIGKILL"},
		"a crash":                              {ending{result: exited(-1, "SIGSEGV")}, failure.Unknown, true, "SIGSEGV"},
		"the time limit is reached":            {ending{result: proc.Result{ExitCode: -1, Signal: "SIGTERM", End: proc.Deadline}, timeout: time.Minute}, failure.Timeout, true, "after 1m0s"},
		"an exit of 0 after the time was over": {ending{result: proc.Result{End: proc.Deadline}, timeout: time.Minute}, failure.Timeout, true, "after 1m0s"},
		"too much output":                      {ending{result: proc.Result{End: proc.Canceled}, flooded: true}, failure.BadRequest, false, "16777216 bytes"},
		"too much output, then an exit":        {ending{result: exited(0, ""), flooded: true}, failure.BadRequest, false, "16777216 bytes"},
		"no such program":                      {ending{err: start(proc.ErrNotFound)}, failure.BadRequest, false, "no program agent"},
		"not a program":                        {ending{err: start(fmt.Errorf("%w: exec format", proc.ErrNotExecutable))}, failure.BadRequest, false, "interpreter"},
		"no working directory":                 {ending{err: start(fmt.Errorf("working directory: %w", fs.ErrNotExist))}, failure.BadRequest, false, "working directory"},
		"no process to be had":                 {ending{err: start(errors.New("resource temporarily unavailable"))}, failure.Unknown, true, "unavailable"},
		"the supervisor was killed":            {ending{err: fmt.Errorf("run agent: %w", proc.ErrLost)}, failure.Unknown, true, "supervisor"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.end.program = "agent"
			e := classifyEnding(tt.end)
			if tt.code == "" {
				if e != nil {
					t.Errorf("got %v, want success", e)
				}
				return
			}
			if e == nil || e.Code != tt.code || e.Retriable != tt.retriable || !strings.Contains(e.Message, tt.says) {
				t.Errorf("got %+v, want %s (retriable %t) that says %q", e, tt.code, tt.retriable, tt.says)
			}
		})
	}
}
