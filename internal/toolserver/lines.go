package toolserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is how many bytes a line of the client may have. A call with the
// longest message has some 200,000 when each character is escaped.
const maxLine = 1 << 20

// lines reads the messages of the client, each on a line of its own. It answers a line that
// is not a message with an error and drops it, because the SDK ends the session at such a
// line. The SDK also ends the session at a batch, unless the client is an old one. Therefore
// lines passes on the members of a batch one by one.
//
// It reads nothing while the client does not take what it is told: the SDK would hold each message
// that is not answered yet.
type lines struct {
	from  *bufio.Reader
	to    *answers
	ready []byte // read from the client, not yet returned by Read
}

func newLines(from io.Reader, to *answers) *lines {
	return &lines{from: bufio.NewReaderSize(from, maxLine), to: to}
}

// answers is the stream to the client.
type answers struct {
	io.WriteCloser
	writing sync.Mutex
}

func (a *answers) Write(p []byte) (int, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	return a.WriteCloser.Write(p)
}

// awaitTaken waits until the client has taken what is being written.
func (a *answers) awaitTaken() {
	a.writing.Lock()
	defer a.writing.Unlock()
}

// Read returns whole messages only. It returns an error when it cannot write an answer.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		l.to.awaitTaken()
		if err := l.nextLine(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

func (l *lines) nextLine() error {
	line, err := l.from.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.from.ReadSlice('\n')
		}
		return l.refuseLine(jsonrpc.CodeParseError, fmt.Errorf("the line has more than %d bytes", maxLine))
	}
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return err
	case !json.Valid(line):
		return l.refuseLine(jsonrpc.CodeParseError, errors.New("the line is not JSON"))
	case line[0] == '[':
		return l.takeAll(line)
	}
	return l.takeMessage(line)
}

func (l *lines) takeAll(batch []byte) error {
	var members []json.RawMessage
	if err := json.Unmarshal(batch, &members); err != nil || len(members) == 0 {
		return l.refuseLine(jsonrpc.CodeInvalidRequest, errors.New("an empty batch"))
	}
	for _, m := range members {
		if err := l.takeMessage(m); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) takeMessage(message []byte) error {
	_, err := jsonrpc.DecodeMessage(message)
	switch {
	case err == nil:
		l.ready = append(append(l.ready, message...), '\n')
		return nil
	case isAnswer(message):
		return nil // never answered: two peers could answer each other without end
	}
	return l.refuseLine(jsonrpc.CodeInvalidRequest, err)
}

func isAnswer(message []byte) bool {
	var m struct{ Result, Error json.RawMessage }
	return json.Unmarshal(message, &m) == nil && (m.Result != nil || m.Error != nil)
}

// refuseLine answers a line with an error. The answer has no id because the id of the line is
// unknown.
func (l *lines) refuseLine(code int64, why error) error {
	answer, err := json.Marshal(struct {
		Version string        `json:"jsonrpc"`
		ID      *int          `json:"id"`
		Error   jsonrpc.Error `json:"error"`
	}{"2.0", nil, jsonrpc.Error{Code: code, Message: lineOf(why)}})
	if err != nil {
		return err
	}
	_, err = l.to.Write(append(answer, '\n'))
	return err
}
