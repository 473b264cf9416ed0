package tools

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outbox is the stream to the client. It reports to a waiting handler that its answer has been
// written, which the SDK does not report. Such an answer carries a slip in its metadata, and
// the transport writes a message in one call. Messages of several writers do not mix.
type outbox struct {
	to      io.Writer
	writing sync.Mutex // apart from mu: a client that does not read blocks only writers

	mu    sync.Mutex
	slips map[string]chan struct{} // by number; closed when written
}

func newOutbox(w io.Writer) *outbox { return &outbox{to: w, slips: map[string]chan struct{}{}} }

func (o *outbox) Write(p []byte) (int, error) {
	n, err := o.writeTaken(p)
	if err != nil {
		return n, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for number, done := range o.slips {
		if bytes.Contains(p, []byte(number)) {
			close(done)
			delete(o.slips, number)
		}
	}
	return n, nil
}

func (o *outbox) writeTaken(p []byte) (int, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	return o.to.Write(p)
}

// Close does nothing. The opener of the stream closes it.
func (o *outbox) Close() error { return nil }

// slip identifies one answer.
type slip struct {
	out    *outbox
	number string
	done   chan struct{}
}

// slipKey is the metadata key under which an answer carries its slip.
const slipKey = "ratchet/answer"

// expect makes the slip of an answer to come.
func (o *outbox) expect() slip {
	s := slip{o, uuid.NewString(), make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.slips[s.number] = s.done
	return s
}

func (s slip) asMeta() mcp.Meta { return mcp.Meta{slipKey: s.number} }

// dropSlip forgets the slip, because its answer may never come.
func (s slip) dropSlip() {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	delete(s.out.slips, s.number)
}

// awaitWritten waits until the answer has been written. ctx is the context of the call. The SDK
// ends ctx when it has tried to write the answer.
func (s slip) awaitWritten(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-s.done:
		return nil
	default:
		return errUnwritten
	}
}
