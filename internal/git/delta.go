package git

import (
	"bufio"
	"encoding/binary"
	"errors"
)

// readBack reads how far before a delta its base begins: seven bits a byte, the highest first, and one more for each
// further byte.
func readBack(in *bufio.Reader) (back int64, err error) {
	for n := 0; ; n++ {
		b, err := in.ReadByte()
		if err != nil || n > 8 {
			return 0, errors.Join(errUnusual, err)
		}
		back = back<<7 | int64(b&0x7f)
		if b&0x80 == 0 {
			return back, nil
		}
		back++
	}
}

// applyDelta makes an object from its base: pieces of the base, and new bytes.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, delta, ok1 := deltaSize(delta)
	size, delta, ok2 := deltaSize(delta)
	if !ok1 || !ok2 || from != uint64(len(base)) || size > maxObject {
		return nil, errUnusual
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		if op&0x80 == 0 {
			if op == 0 || int(op) > len(delta) {
				return nil, errUnusual
			}
			piece, delta = delta[:op], delta[op:]
		} else {
			var at, n uint64
			var ok bool
			if at, n, delta, ok = deltaPiece(op, delta); !ok || at+n > uint64(len(base)) {
				return nil, errUnusual
			}
			piece = base[at : at+n]
		}
		if out = append(out, piece...); uint64(len(out)) > size {
			return nil, errUnusual
		}
	}
	if uint64(len(out)) != size {
		return nil, errUnusual
	}
	return out, nil
}

// deltaSize reads a size, seven bits a byte, the lowest first.
func deltaSize(b []byte) (n uint64, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return 0, nil, false
	}
	return n, b[used:], true
}

// deltaPiece reads where a piece of the base begins, and its size. The bits of op say which bytes follow.
func deltaPiece(op byte, b []byte) (at, n uint64, rest []byte, ok bool) {
	for bit := range 7 {
		if op&(1<<bit) == 0 {
			continue
		}
		if len(b) == 0 {
			return 0, 0, nil, false
		}
		if bit < 4 {
			at |= uint64(b[0]) << (8 * bit)
		} else {
			n |= uint64(b[0]) << (8 * (bit - 4))
		}
		b = b[1:]
	}
	if n == 0 {
		n = 0x10000
	}
	return at, n, b, true
}
