// Package chat holds the common part of the providers on model APIs: one call as a conversation of a few
// messages, in which the model may explore the run's files. It fits the prompt into the model's window,
// enforces the time, the bounds and the budgets, and decides the meaning of an error. A Wire speaks the
// API over an Endpoint, which never retries.
//
// A message is sent again in two cases, neither of which waits or was paid: once with half of the
// artifacts when the API finds the prompt too long, and once without tools when the API knows none.
package chat

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// Model holds the known limits of a model, in tokens.
type Model struct {
	Name   string
	Window int // of prompt and answer together
	// MaxOutput is the longest answer; zero: not known.
	MaxOutput int
	// Reserve is kept free for an answer that the request does not bound.
	Reserve int
}

// Family has the limits of the models whose names begin with Prefix; zero: not known.
type Family = struct {
	Prefix            string
	Window, MaxOutput int
}

// unknownWindow is the window of a model of no family.
const unknownWindow = 128_000

// ModelOf returns the limits of a model by the first family that fits its name.
func ModelOf(name string, families []Family, reserve int) Model {
	m := Model{Name: name, Window: unknownWindow, Reserve: reserve}
	base := name[strings.LastIndexByte(name, '/')+1:] // gateways put a vendor before it
	base = strings.TrimPrefix(base, "ft:")            // OpenAI's mark of a fine-tuned model
	for _, f := range families {
		if strings.HasPrefix(base, f.Prefix) {
			m.Window, m.MaxOutput = f.Window, f.MaxOutput
			break
		}
	}
	return m
}

// DefaultIdle is the default of Config.Idle. Reasoning models fall silent for
// minutes.
const DefaultIdle = 5 * time.Minute

// Config makes a provider.
type Config struct {
	Name  string // of the provider
	Model Model
	Wire  Wire
	// Redact removes secrets from the texts of the model and its API, and from the
	// files that the model reads. Nil removes none.
	Redact *redact.Redactor
	// Idle is the longest silence within an answer that has begun; zero is
	// DefaultIdle. The beginning of an answer may take the time of the request.
	Idle  time.Duration
	Price Price
}

// Wire speaks one API. It is safe for concurrent use.
type Wire interface {
	// Send asks for the next message of a conversation, by one request over
	// line, and passes the text to line as it arrives. With an error, too, it returns the known
	// part of the message. The error is ErrUnfinished when the stream ended before the
	// message did, a *StatusError for an answer of the API, a *failure.Error for
	// a failure that the wire can judge, or the error of the transport.
	Send(ctx context.Context, c Conversation, line *Line) (Message, error)
}

// ErrUnfinished is the error of a stream that ended in good order before the
// message did.
var ErrUnfinished = errors.New("the stream ended before the answer did")

// Conversation is the input for the model's next message. All of it is sent each time.
type Conversation struct {
	Model   string
	System  string
	Context string // the artifacts; empty when there are none
	User    string
	Key     string // the same for conversations that begin alike
	Tools   []explore.Tool
	// Exchanges are the tool calls of the model so far, with their results.
	Exchanges []Exchange
	// MustAnswer forbids to use the tools further.
	MustAnswer bool
	// MaxOutput is positive. Bounded says that the request or a budget demands
	// it; otherwise this package chose it.
	MaxOutput   int
	Bounded     bool
	Temperature *float64
}

// Exchange is a message with tool calls, and their results in the same
// order.
type Exchange struct {
	Said    Message
	Results []explore.Result
}

// Message is one message of the model.
type Message struct {
	Finish provider.FinishReason // Stop or Length
	Calls  []explore.ToolCall    // the calls whose results it waits for; none when it is an answer
	Tokens *Tokens               // nil: not reported
	Native any                   // the message as its wire sends it back
}

type chat struct {
	Config
	noTools *atomic.Bool // the API knows none
}

// New makes the provider.
func New(c Config) provider.Provider {
	c.Idle = cmp.Or(c.Idle, DefaultIdle)
	return chat{c, new(atomic.Bool)}
}

func (p chat) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Name: p.Name, Version: p.Model.Name, MaxContextTokens: p.Model.Window,
		SupportsPatchFirst: true, SupportsStreaming: true, SupportsToolCalls: true, Explores: true,
	}
}

// Generate answers with the text of the model's last message. The text of earlier
// messages, which made tool calls, counts as progress only. After an error
// the text is the text of all messages.
func (p chat) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return provider.Response{}, err
	}
	if err := req.Check(); err != nil {
		return provider.FailedResponse(err, "", 0), err
	}
	c := p.beginCall(req, progress)
	finish, err := c.holdConversation(ctx)
	resp := provider.Response{RawText: c.out.lastMessage(), FinishReason: finish}
	if err != nil {
		resp, err = c.endInError(ctx, err)
	}
	resp.Usage = c.knownUsage()
	resp.DurationMs = time.Since(start).Milliseconds()
	return resp, err
}
