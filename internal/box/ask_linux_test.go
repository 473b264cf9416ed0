package box_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// watched is an output that calls seen once, when it holds a word.
type watched struct {
	mu   sync.Mutex
	out  bytes.Buffer
	word string
	seen func()
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Write(b)
	if w.seen != nil && strings.Contains(w.out.String(), w.word) {
		w.seen()
		w.seen = nil
	}
	return len(b), nil
}

// A program in a box is asked to end, has the grace for it, and is killed then, as one without a box.
func TestAProgramInABoxIsAskedToEnd(t *testing.T) {
	b := openBox(t)
	const stay = "; echo up; while :; do sleep 0.02; done"
	for name, test := range map[string]struct {
		script, want string
		grace        time.Duration
	}{
		"it cleans up":             {"trap 'echo asked; exit 3' TERM" + stay, "up\nasked\n", time.Minute},
		"a process behind it does": {"trap 'wait; exit' TERM; (trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.02; done) & wait", "ready\nasked\n", time.Minute},
		"it does not listen":       {"trap '' TERM" + stay, "up\n", 50 * time.Millisecond},
	} {
		for kind, in := range map[string]*box.Box{"in a box": b, "without": nil} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first, _, _ := strings.Cut(test.want, "\n")
				out := &watched{word: first, seen: cancel}
				c := shell(in, box.Spec{Tree: t.TempDir()}, test.script, out)
				c.Grace, c.Stderr = test.grace, nil // a shell tells there what it has ended
				r, err := proc.Run(ctx, c)
				if err != nil || r.End != proc.Canceled || r.Left != 0 {
					t.Errorf("%+v, %v", r, err)
				}
				lines := slices.Compact(strings.SplitAfter(out.out.String(), "\n")) // a program may be asked twice
				if got := strings.Join(lines, ""); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		}
	}
}
