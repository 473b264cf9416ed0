package editor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// maxMessage is the longest line that the connection takes.
const maxMessage = 10<<20 - 2

// lockedWriter writes one message at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// messages passes the lines of the editor on to the connection, and answers those that are not messages: the connection
// would drop them in silence.
type messages struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte
}

func newMessages(in io.Reader, out io.Writer) *messages {
	return &messages{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.readLine()
		if err != nil {
			return 0, err
		}
		if wrong := checkMessage(line); wrong != nil {
			m.refuse(wrong)
			continue
		}
		m.rest = append(line, '\n')
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// readLine returns the next line, without its end. Of a line that is too long it returns one byte more than fit.
func (m *messages) readLine() (line []byte, err error) {
	for {
		part, err := m.in.ReadSlice('\n')
		if len(line) <= maxMessage {
			line = append(line, part[:min(len(part), maxMessage+1-len(line))]...)
		}
		switch {
		case err == nil:
			if line[len(line)-1] == '\n' {
				line = line[:len(line)-1]
			}
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return line, nil
			}
			return nil, err
		}
	}
}

// checkMessage returns the error of a line that is not a message; an empty line is passed on.
func checkMessage(line []byte) *sdk.RequestError {
	var m struct {
		ID     *json.RawMessage `json:"id"`
		Method string           `json:"method"`
	}
	switch err := json.Unmarshal(line, &m); {
	case len(line) > maxMessage:
		return &sdk.RequestError{Code: sdk.NewInvalidRequest(nil).Code, Message: fmt.Sprintf("a message is longer than %d bytes: send less text", maxMessage)}
	case isBlank(line):
		return nil
	case !json.Valid(line):
		return &sdk.RequestError{Code: sdk.NewParseError(nil).Code, Message: "a line is not JSON: send one JSON-RPC 2.0 message a line, without line feeds in it"}
	case err != nil, m.ID == nil && m.Method == "":
		return &sdk.RequestError{Code: sdk.NewInvalidRequest(nil).Code, Message: "a line is not a message: want a JSON object with a method, or with the id of a request"}
	}
	return nil
}

func isBlank(line []byte) bool { return len(bytes.Trim(line, " \t\r")) == 0 }

// refuse answers a line that has no id which could be read.
func (m *messages) refuse(e *sdk.RequestError) {
	b, err := json.Marshal(struct {
		JSONRPC string            `json:"jsonrpc"`
		ID      *string           `json:"id"`
		Error   *sdk.RequestError `json:"error"`
	}{"2.0", nil, e})
	if err == nil {
		_, _ = m.out.Write(append(b, '\n'))
	}
}
