package redact_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/redact"
)

// BenchmarkRedact is 10 MB of log lines, one in a thousand with a secret.
func BenchmarkRedact(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/-_"[random.IntN(66)])
		}
		return s.String()
	}
	var environ []string
	for i := range 30 {
		environ = append(environ, fmt.Sprintf("SERVICE_%d_KEY=sk-%s", i, letters(40)))
	}
	var text strings.Builder
	for i := 0; text.Len() < 10<<20; i++ {
		fmt.Fprintf(&text, "2026-02-14T12:00:00Z INFO request %d served in %d ms for %s\n", i, i%97, letters(20))
		if i%1000 == 0 {
			text.WriteString(environ[i/1000%30] + "\n")
		}
	}
	data := []byte(text.String())
	for name, r := range map[string]*redact.Redactor{"no secrets": redact.New(nil), "30 secrets": redact.New(environ)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r.Bytes(data)
			}
		})
		b.Run(name+", written by 4 KiB", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				w := r.Writer(io.Discard)
				for at := 0; at < len(data); at += 4096 {
					w.Write(data[at:min(at+4096, len(data))])
				}
				w.Close()
			}
		})
	}
}
