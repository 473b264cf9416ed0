package session

import (
	"bytes"
	"sync"
)

// keptStderr is how much of the end of what an agent writes to standard error
// goes into the log of a call.
const keptStderr = 4 << 10

// stderr gathers what an agent writes to standard error between two calls of
// take.
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

// take returns whole lines, the last ones.
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
