// Package toolserver serves tools to one client of the Model Context Protocol on a stream. A failure of a tool is an
// error of that tool in one line, which the agent reads; it is never an error of the protocol.
package toolserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// maxLine is how many bytes a message of the client may have. A call with the longest text for a peer has some 200,000
// when each character is escaped.
const maxLine = 1 << 20

// Config configures a server. Every member is required.
type Config struct {
	Instructions string
	Log          *slog.Logger
	// Offer adds the tools, whose list never changes.
	Offer func(*mcp.Server)
}

// Serve serves one client on in and out until the client hangs up or ctx ends. Both are regular ends. Calls in progress
// are cut off. Nothing else may be written to out. Serve may read in a little longer.
func Serve(ctx context.Context, c Config, in io.Reader, out io.WriteCloser) error {
	m := mcp.NewServer(&mcp.Implementation{Name: "ratchet", Title: "Ratchet", Version: moduleVersion()}, &mcp.ServerOptions{
		Instructions: c.Instructions, Logger: c.Log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list never changes
	})
	m.AddReceivingMiddleware(endingWith(ctx))
	c.Offer(m)
	s := &paced{in: in, out: out}
	session, err := m.Connect(ctx, &mcp.IOTransport{Reader: s, Writer: s, MaxLineLength: maxLine}, nil)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = session.Close() })()
	err = session.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// paced is the stream of a client. It reads nothing while the client does not read an answer, because the SDK keeps every
// message that it has not answered yet.
type paced struct {
	in      io.Reader
	out     io.WriteCloser
	writing sync.Mutex
}

func (s *paced) Read(p []byte) (int, error) {
	s.awaitWrite()
	return s.in.Read(p)
}

func (s *paced) awaitWrite() {
	s.writing.Lock()
	defer s.writing.Unlock()
}

func (s *paced) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.out.Write(p)
}

func (s *paced) Close() error { return s.out.Close() }

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// endingWith returns middleware that also ends the context of a call when end ends. The SDK
// ends it when the client cancels the call or hangs up, and when the answer has been written.
// Nothing of the call is left then.
func endingWith(end context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			forget := context.AfterFunc(end, cancel)
			context.AfterFunc(ctx, func() { forget() })
			return next(ctx, method, req)
		}
	}
}

// AddTool offers a tool. The output of handle is the answer as JSON. It is the answer as text too, unless handle sets
// another text.
func AddTool[In, Out any](m *mcp.Server, t *mcp.Tool, handle mcp.ToolHandlerFor[In, Out]) {
	mcp.AddTool(m, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		res, out, err := handle(ctx, req, in)
		return res, out, OneLine(err)
	})
}

// Looking returns the annotations of a tool that changes nothing.
func Looking(title string) *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
}

// OneOf returns the schema of one of some words.
func OneOf[T ~string](words []T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// maxError bounds the characters of the line of an error.
const maxError = 600

// OneLine returns an error whose text is one line that a terminal can show; nil for nil.
func OneLine(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(display.OneLine(err.Error(), maxError))
}
