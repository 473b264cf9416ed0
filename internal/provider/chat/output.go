package chat

import (
	"fmt"
	"io"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// MaxText bounds what a model may say in one call, in bytes. A longer stream is
// cut.
const MaxText = 16 << 20

// output keeps what the model says, without secrets, and reports it.
type output struct {
	redact   *redact.Redactor
	progress func(provider.Progress)

	kept []byte
	mark int            // where the message under way begins in kept
	in   io.WriteCloser // redacts on the way to keep
	full func(error)
}

// begin begins a message. Full is called when there is too much.
func (o *output) begin(full func(error)) {
	o.mark, o.full = len(o.kept), full
	o.in = o.redact.Writer(keep{o})
}

// end passes on what was held back in case a secret came of it.
func (o *output) end() { o.in.Close() }

func (o *output) message() string { return string(o.kept[o.mark:]) }

func (o *output) all() string { return string(o.kept) }

// does reports that the model uses a tool.
func (o *output) does(c explore.Call) {
	o.report(provider.Clip(o.redact.String(fmt.Sprintf("%s %s", c.Name, c.Input)), 200))
}

func (o *output) report(doing string) {
	if o.progress != nil {
		o.progress(provider.Progress{Bytes: int64(len(o.kept)), Tail: provider.Tail(o.kept), Doing: doing})
	}
}

// keep is the writer behind the redaction. It takes everything.
type keep struct{ *output }

func (k keep) Write(p []byte) (int, error) {
	n := len(p)
	if room := MaxText - len(k.kept); len(p) > room {
		p = p[:room]
		k.full(errFlood)
	}
	if len(p) > 0 {
		k.kept = append(k.kept, p...)
		k.report("")
	}
	return n, nil
}
