package box

import (
	"testing"

	"golang.org/x/sys/unix"
)

// run interprets a program on a word, and returns the action and whether there is one.
func (p program) run(word uint32) (action uint32, ok bool) {
	for at := 0; at < len(p); at++ {
		i, held := p[at], false
		switch i.Code {
		case unix.BPF_RET | unix.BPF_K:
			return i.K, true
		case unix.BPF_JMP | unix.BPF_JA:
			at += int(i.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			held = word == i.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			held = word >= i.K
		default:
			return 0, false
		}
		if held {
			at += int(i.Jt)
		} else {
			at += int(i.Jf)
		}
	}
	return 0, false
}

// A list of calls may grow: no block is too long to be skipped, and the last call of a long one counts.
func TestLongBlockOfAFilter(t *testing.T) {
	const calls = 300
	var p program
	p.test(unix.BPF_JGE, 1000, func(b *program) {
		for i := range uint32(calls) {
			b.is(1000+i, kill)
		}
		b.ret(allow)
	})
	p.ret(refuse(unix.EPERM))
	for word, want := range map[uint32]uint32{
		999: refuse(unix.EPERM), 1000: kill, 1000 + calls - 1: kill, 1000 + calls: allow,
	} {
		if got, ok := p.run(word); !ok || got != want {
			t.Errorf("%d: %#x, %v; want %#x", word, got, ok, want)
		}
	}
}
