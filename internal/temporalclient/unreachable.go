package temporalclient

import (
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// Source says what named the server.
type Source int

// The sources, in the order in which they are asked.
const (
	OwnEngine     Source = iota + 1 // the caller, who started an engine
	Configuration                   // the standard Temporal client configuration
	EngineFile                      // engine.json of the runs directory
	Default                         // nothing did: 127.0.0.1:7233
)

// String names the source as a user knows it.
func (s Source) String() string {
	switch s {
	case OwnEngine:
		return "the engine of this process"
	case Configuration:
		return "the Temporal client configuration"
	case EngineFile:
		return engine.FileName
	case Default:
		return "the default, nothing names another"
	}
	return fmt.Sprintf("Source(%d)", int(s))
}

// Unreachable is the error of a server that did not answer or refused the client. Its text is one line that says who was
// not reached and what to do.
type Unreachable struct {
	Address string
	Source  Source
	Err     error
}

// Error says who was not reached, why, and what to do.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("cannot reach temporal at %s (%s): %s; %s", e.Address, e.Source, e.reason(), e.remedy())
}

// reason is the cause without the layers that gRPC and the SDK wrap around it.
func (e *Unreachable) reason() string {
	text := strings.TrimPrefix(e.Err.Error(), "failed reaching server: ")
	if _, cause, ok := strings.Cut(text, "Error while dialing: "); ok {
		return strings.TrimSuffix(cause, `"`)
	}
	return text
}

// Unwrap returns what the connection failed with.
func (e *Unreachable) Unwrap() error { return e.Err }

func (e *Unreachable) remedy() string {
	if _, denied := errors.AsType[*serviceerror.PermissionDenied](e.Err); denied {
		return "check the API key and the certificates of the Temporal client configuration"
	}
	switch e.Source {
	case OwnEngine:
		return "see its log"
	case Configuration:
		return "check TEMPORAL_ADDRESS and the profile, or start that server"
	case EngineFile:
		return "the engine that wrote it has ended: run `starter up` with the same runs directory"
	}
	return "run `starter up`, name its runs directory with --runs-dir, or set TEMPORAL_ADDRESS"
}
