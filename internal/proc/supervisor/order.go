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
	Confinement
}

// Confinement says what the descriptors after [ReportFD] are, and bounds the program. The zero value
// means none and no bound. First come Files descriptors that the program gets, from 3 on. Then comes,
// if Group is set, the directory of a control group (version 2) in which the program starts. Then come
// 2 * Tasks files named tasks of control groups (version 1): each time the group in which the program
// starts, and the supervisor's own.
type Confinement struct {
	Files    int
	Group    bool
	Tasks    int
	FileSize int64 // of each file that the program writes, in bytes
}

const confinementForm = "files=%d group=%t tasks=%d filesize=%d"

// Encode returns the message: the length in 4 bytes, then the nonce, the confinement and the entries,
// each ended by NUL.
func (o Order) Encode() []byte {
	var body strings.Builder
	confinement := fmt.Sprintf(confinementForm, o.Files, o.Group, o.Tasks, o.FileSize)
	for _, entry := range append([]string{o.Nonce, confinement}, o.Env...) {
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
	if len(entries) < 3 || entries[0] == "" || entries[len(entries)-1] != "" {
		return Order{}, errors.New("read order: no nonce, or an incomplete entry")
	}
	o := Order{Nonce: entries[0], Env: entries[2 : len(entries)-1]}
	if _, err := fmt.Sscanf(entries[1], confinementForm, &o.Files, &o.Group, &o.Tasks, &o.FileSize); err != nil {
		return Order{}, fmt.Errorf("read order: confinement %.80q: %w", entries[1], err)
	}
	return o, nil
}
