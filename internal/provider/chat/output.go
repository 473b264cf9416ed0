package chat

import (
	"fmt"
	"io"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// MaxText bounds the text of a model in one call, in bytes. A longer stream is
// cut.
const MaxText = 16 << 20

// output keeps the text of the model, without secrets, and reports it.
type output struct {
	redact   *redact.Redactor
	progress func(provider.Progress)

	kept []byte
	mark int            // where the message in progress begins in kept
	in   io.WriteCloser // redacts on the way to keep
	full func(error)
}

// beginMessage begins a message. It keeps full, which is called when the text is too long.
func (o *output) beginMessage(full func(error)) {
	o.mark, o.full = len(o.kept), full
	o.in = o.redact.Writer(keptWriter{o})
}

// endMessage passes on the bytes that were held back because they could have begun a secret.
func (o *output) endMessage() { o.in.Close() }

// lastMessage returns the text of the current message.
func (o *output) lastMessage() string { return string(o.kept[o.mark:]) }

// allText returns the text of all messages.
func (o *output) allText() string { return string(o.kept) }

// reportTool reports that the model uses a tool.
func (o *output) reportTool(c explore.ToolCall) {
	o.reportProgress(display.Clip(o.redact.String(fmt.Sprintf("%s %s", c.Name, c.Input)), 200))
}

func (o *output) reportProgress(doing string) {
	if o.progress != nil {
		o.progress(provider.Progress{Bytes: int64(len(o.kept)), Tail: provider.Tail(o.kept), Doing: doing})
	}
}

// keptWriter is the writer behind the redaction. It accepts everything.
type keptWriter struct{ *output }

func (k keptWriter) Write(p []byte) (int, error) {
	n := len(p)
	if room := MaxText - len(k.kept); len(p) > room {
		p = p[:room]
		k.full(errFlood)
	}
	if len(p) > 0 {
		k.kept = append(k.kept, p...)
		k.reportProgress("")
	}
	return n, nil
}
