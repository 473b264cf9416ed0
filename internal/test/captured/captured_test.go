package captured_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/captured"
)

func TestAwaitSeesEveryWrite(t *testing.T) {
	var out captured.Output
	const writers, lines = 8, 100
	var writing, reading sync.WaitGroup
	for i := range 4 {
		reading.Go(func() {
			want := writers * lines * (i + 1) / 4
			text, ok := out.Await(t.Context(), func(text string) bool { return strings.Count(text, "\n") >= want })
			if got := strings.Count(text, "\n"); !ok || got < want {
				t.Errorf("a reader that waits for %d lines saw %d", want, got)
			}
		})
	}
	for range writers {
		writing.Go(func() {
			for i := range lines {
				fmt.Fprintln(&out, i)
			}
		})
	}
	writing.Wait()
	reading.Wait()
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	var out captured.Output
	if _, ok := out.Await(ctx, func(string) bool { return false }); ok {
		t.Error("a condition that never holds holds")
	}
	if _, ok := out.Await(ctx, func(text string) bool { return text == "" }); !ok {
		t.Error("a condition that holds does not")
	}
}
