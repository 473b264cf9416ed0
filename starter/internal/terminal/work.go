package terminal

import (
	"sync"
	"time"
)

// frame is the time between two states of a moving line.
const frame = 100 * time.Millisecond

// Work is a moving line that moves by itself, for work that reports no progress.
type Work struct {
	screen *Screen
	done   chan struct{}
	moving sync.WaitGroup
	stop   func()

	mu    sync.Mutex
	text  string
	begun time.Time // of the step; zero: the text has its own time
}

// Work begins a moving line with the text and the time since. It lasts until Stop.
func (s *Screen) Work(text string) *Work {
	w := &Work{screen: s, done: make(chan struct{}), text: text, begun: time.Now()}
	w.stop = sync.OnceFunc(func() {
		close(w.done)
		w.moving.Wait()
		s.Clear()
	})
	if s.live {
		w.moving.Go(w.move)
	}
	return w
}

// Step changes the text and counts the time from now on.
func (w *Work) Step(text string) { w.set(text, time.Now()) }

// Show changes the text, which has its own time.
func (w *Work) Show(text string) { w.set(text, time.Time{}) }

func (w *Work) set(text string, begun time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text, w.begun = text, begun
}

// Stop ends the moving line and removes it. A second call does nothing.
func (w *Work) Stop() { w.stop() }

func (w *Work) move() {
	tick := time.NewTicker(frame)
	defer tick.Stop()
	for {
		w.screen.Spin(w.line())
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
	}
}

func (w *Work) line() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun.IsZero() {
		return w.text
	}
	return w.text + " · " + Duration(time.Since(w.begun))
}
