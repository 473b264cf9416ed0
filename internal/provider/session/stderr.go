package session

import (
	"bytes"
	"sync"
)

// keptStderr bounds the end of an agent's standard error that goes into the log
// of a call.
const keptStderr = 4 << 10

// stderr collects the standard error of an agent between two calls of takeLines.
type stderr struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

func (w *stderr) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	if over := len(w.kept) - keptStderr; over > 0 {
		w.kept, w.cut = append([]byte(nil), w.kept[over:]...), true
	}
	return len(p), nil
}

// takeLines returns the last whole lines and forgets them.
func (w *stderr) takeLines() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.kept
	if i := bytes.IndexByte(text, '\n'); w.cut && i >= 0 {
		text = text[i+1:]
	}
	w.kept, w.cut = nil, false
	return bytes.TrimSpace(text)
}
