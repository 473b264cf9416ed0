package clitest

import (
	"bytes"
	"time"

	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// AtScreen returns a command at a screen of that width, and its output. Zero columns are a pipe.
func AtScreen(columns int, env ...string) (*factory.Factory, *bytes.Buffer) {
	var out bytes.Buffer
	return factory.New(console.Console{Out: &out, Err: &out, Environ: append(env, "TERM=xterm"), Now: time.Now, Screen: columns > 0, Width: func() int { return columns }}, nil), &out
}
