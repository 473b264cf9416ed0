package temporalclient

import (
	"cmp"
	"context"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// Door is an engine that has proved itself, and the key to it.
type Door struct {
	Engine engine.File
	start  string // empty: the engine is open
}

// Knock asks the engine of a runs directory for its proof. It looks at no other configuration. The
// error is an *Unreachable when there is no engine, or another program in its place. A zero timeout
// means 30 s.
func Knock(ctx context.Context, runsDir string, timeout time.Duration) (Door, error) {
	f, err := readFile(runsDir)
	if err != nil {
		return Door{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(timeout, localTimeout))
	defer cancel()
	p := &prover{address: f.Address, token: f.Token}
	if err := p.challenge(ctx); err != nil {
		return Door{}, &Unreachable{Address: f.Address, Source: EngineFile, Err: err}
	}
	return Door{Engine: f, start: *p.start.Load()}, nil
}

// Locked reports whether the engine admits holders of its token alone.
func (d Door) Locked() bool { return d.start != "" }

// Authorization returns the value of the authorization header that the engine admits until it ends.
// It is empty when the engine is open.
func (d Door) Authorization() string { return d.Engine.Token.Bearer(d.start, d.Engine.Address) }

// Login returns a link that opens a page of the Web UI once, within [engine.LoginLife]. page is an
// absolute path.
func (d Door) Login(page string) string {
	return d.Engine.Token.Login(d.Engine.UI, d.start, page, time.Now())
}
