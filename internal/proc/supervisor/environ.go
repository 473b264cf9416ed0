package supervisor

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// maxEnviron bounds what a supervisor reads; Linux itself refuses far less.
const maxEnviron = 64 << 20

// EncodeEnviron is the message that opens the control descriptor: the length in 4 bytes, then the entries, each ended by NUL.
// The environment does not travel as the supervisor's own, because there GODEBUG and its kind would speak to us.
func EncodeEnviron(env []string) []byte {
	var body strings.Builder
	for _, entry := range env {
		body.WriteString(entry)
		body.WriteByte(0)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(body.Len())), body.String()...)
}

// DecodeEnviron reads that message and not one byte more.
func DecodeEnviron(r io.Reader) ([]string, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, fmt.Errorf("read environment: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxEnviron {
		return nil, fmt.Errorf("read environment: %d bytes are too many", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("read environment: %w", err)
	}
	entries := strings.Split(string(body), "\x00")
	return entries[:len(entries)-1], nil
}
