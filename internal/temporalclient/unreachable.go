package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// Source is the source that named the server.
type Source int

// The sources, in the order of precedence.
const (
	OwnEngine     Source = iota + 1 // the caller, who started an engine
	Configuration                   // the standard Temporal client configuration
	Joined                          // home.json of the runs directory: the home machine that this host has joined
	EngineFile                      // engine.json of the runs directory
	Nowhere                         // no source named a server
)

// String names the source as a user knows it.
func (s Source) String() string {
	switch s {
	case OwnEngine:
		return "the engine of this process"
	case Configuration:
		return "the Temporal client configuration"
	case Joined:
		return "the home machine of this host"
	case EngineFile:
		return engine.FileName
	case Nowhere:
		return "nothing"
	}
	return fmt.Sprintf("Source(%d)", int(s))
}

var errNoConfiguration = errors.New("TEMPORAL_ADDRESS is not set")

// Unreachable reports a server that is not known, did not answer, refused the client, or does not
// have the certificate of the engine. Its text is one line that names the server and the remedy.
type Unreachable struct {
	Address string // empty: not known
	Source  Source
	Err     error
}

// Error says which server was not reached, why, and which remedy there is.
func (e *Unreachable) Error() string {
	if e.Address == "" {
		return fmt.Sprintf("no engine is known: %s; %s", e.Err, e.remedy())
	}
	return fmt.Sprintf("cannot reach temporal at %s (%s): %s; %s", e.Address, e.Source, e.reason(), e.remedy())
}

// reason returns the cause without the layers that gRPC and the SDK wrap around it.
func (e *Unreachable) reason() string {
	text := strings.TrimPrefix(e.Err.Error(), "failed reaching server: ")
	switch {
	case e.metStranger() && e.Source == Joined:
		return "it refuses this host, or is not the home machine"
	case e.metStranger():
		return "another program listens there, without the certificate of the engine"
	}
	const layer = "Error while dialing: "
	if i := strings.LastIndex(text, layer); i >= 0 {
		return strings.TrimRight(text[i+len(layer):], `\"`)
	}
	return text
}

// metStranger reports whether what listens at the address of an engine is another program. It compares the text,
// because gRPC passes on no type.
func (e *Unreachable) metStranger() bool {
	text := e.Err.Error()
	return e.Source != Configuration && (strings.Contains(text, "tls: ") || strings.Contains(text, "x509: ") || strings.Contains(text, "authentication handshake failed"))
}

// Silent reports whether something has the server's address and did not answer in time.
func (e *Unreachable) Silent() bool {
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](e.Err)
	return late || errors.Is(e.Err, context.DeadlineExceeded)
}

// Unwrap returns the error of the connection.
func (e *Unreachable) Unwrap() error { return e.Err }

func (e *Unreachable) remedy() string {
	if _, denied := errors.AsType[*serviceerror.PermissionDenied](e.Err); denied {
		return "check the API key and the certificates of the Temporal client configuration"
	}
	switch {
	case e.Source == OwnEngine:
		return "see its log"
	case e.Source == Configuration:
		return "check TEMPORAL_ADDRESS and the profile, set both with `eval \"$(starter env)\"`, or start that server"
	case errors.Is(e.Err, engine.ErrNotOurs):
		return "run `starter up` with a --runs-dir of your own, or set TEMPORAL_ADDRESS"
	case e.Source == Joined:
		return "look at `starter hosts` there; `starter host join` there prints how to join again"
	case e.metStranger():
		return "the engine that wrote it has ended: run `starter up --port 0` with the same runs directory"
	case e.Source == EngineFile && e.Silent():
		return "the machine may be busy: try again; if that does not help, restart `starter up` with the same runs directory"
	case e.Source == EngineFile:
		return "the engine that wrote it has ended: run `starter up` with the same runs directory"
	}
	return "run `starter up`, name its runs directory with --runs-dir, or set TEMPORAL_ADDRESS"
}
