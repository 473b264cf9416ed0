package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// output keeps the first limit bytes, and calls full when there are more. It
// accepts everything, so that no writer to it blocks.
type output struct {
	limit    int
	full     func()
	progress func(provider.Progress)

	kept []byte
	over bool
}

func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	if room := o.limit - len(o.kept); len(p) > room {
		p = p[:room]
		o.over = true
		o.full()
	}
	if len(p) == 0 {
		return n, nil
	}
	o.kept = append(o.kept, p...)
	if o.progress != nil {
		o.progress(provider.Progress{Bytes: int64(len(o.kept)), Tail: provider.Tail(o.kept)})
	}
	return n, nil
}

// complaint keeps a program's standard error: much of it for the log,
// little for the error message, which enters the workflow's history.
type complaint struct{ long, short *proc.HeadTail }

func (c complaint) Write(p []byte) (int, error) {
	c.short.Write(p)
	return c.long.Write(p)
}

// writeLog ignores the errors of the log, because a full disk must not cost an answer.
func (c complaint) writeLog(w io.Writer) {
	if text := strings.TrimRight(c.long.String(), "\n"); w != nil && text != "" {
		fmt.Fprintln(w, text)
	}
}
