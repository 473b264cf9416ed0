package conduct

import (
	"bytes"
	"sync"
)

// keptStderr bounds the end of an agent's standard error that goes into the log
// of a call.
const keptStderr = 4 << 10

// Stderr collects the standard error of an agent between two calls of TakeLines.
type Stderr struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (w *Stderr) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	if over := len(w.kept) - keptStderr; over > 0 {
		w.kept, w.cut = append([]byte(nil), w.kept[over:]...), true
	}
	return len(p), nil
}

// TakeLines returns the last whole lines and forgets them.
func (w *Stderr) TakeLines() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.kept
	if i := bytes.IndexByte(text, '\n'); w.cut && i >= 0 {
		text = text[i+1:]
	}
	w.kept, w.cut = nil, false
	return bytes.TrimSpace(text)
}
