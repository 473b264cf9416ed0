package supervisor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxOrder bounds the bytes that a supervisor reads. Linux itself refuses a much smaller
// environment.
const maxOrder = 64 << 20

// Order is the first message on the control descriptor. The environment does not travel as the
// supervisor's own, because GODEBUG and similar variables would affect the supervisor there. The
// nonce does not either, because others could read it there.
type Order struct {
	// Nonce is repeated by the report. It is random and holds no NUL. Only the two ends know it.
	Nonce string
	Env   []string // the program's environment
}

// Encode returns the message: the length in 4 bytes, then the nonce and the entries, each ended by
// NUL.
func (o Order) Encode() []byte {
	var body strings.Builder
	for _, entry := range append([]string{o.Nonce}, o.Env...) {
		body.WriteString(entry)
		body.WriteByte(0)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(body.Len())), body.String()...)
}

// ReadOrder reads one encoded order and not one byte more.
func ReadOrder(r io.Reader) (Order, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return Order{}, fmt.Errorf("read order: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxOrder {
		return Order{}, fmt.Errorf("read order: %d bytes are too many", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return Order{}, fmt.Errorf("read order: %w", err)
	}
	entries := strings.Split(string(body), "\x00")
	if len(entries) < 2 || entries[0] == "" || entries[len(entries)-1] != "" {
		return Order{}, errors.New("read order: no nonce, or an entry without its end")
	}
	return Order{Nonce: entries[0], Env: entries[1 : len(entries)-1]}, nil
}
