package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is how many bytes a line of the client may have. A call with the
// longest message has some 200,000 when each character is escaped.
const maxLine = 1 << 20

// lines are the messages of the client, each on a line of its own. What is no
// message is answered with an error and left out, since the SDK ends the session
// at it. It does so at a batch too, unless the client is an old one: the members of
// a batch are handed on one by one.
type lines struct {
	from  *bufio.Reader
	to    io.Writer
	ready []byte // of what was read, what is to be handed out
}

func newLines(from io.Reader, to io.Writer) *lines {
	return &lines{from: bufio.NewReaderSize(from, maxLine), to: to}
}

// Read gives whole messages only. An answer that cannot be written is its error.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

func (l *lines) next() error {
	line, err := l.from.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.from.ReadSlice('\n')
		}
		return l.refuse(jsonrpc.CodeParseError, fmt.Errorf("the line has more than %d bytes", maxLine))
	}
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return err
	case !json.Valid(line):
		return l.refuse(jsonrpc.CodeParseError, errors.New("the line is not JSON"))
	case line[0] == '[':
		return l.takeAll(line)
	}
	return l.take(line)
}

func (l *lines) takeAll(batch []byte) error {
	var members []json.RawMessage
	if err := json.Unmarshal(batch, &members); err != nil || len(members) == 0 {
		return l.refuse(jsonrpc.CodeInvalidRequest, errors.New("an empty batch"))
	}
	for _, m := range members {
		if err := l.take(m); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) take(message []byte) error {
	_, err := jsonrpc.DecodeMessage(message)
	switch {
	case err == nil:
		l.ready = append(append(l.ready, message...), '\n')
		return nil
	case answers(message):
		return nil // to which nothing is said: two could go on answering each other
	}
	return l.refuse(jsonrpc.CodeInvalidRequest, err)
}

func answers(message []byte) bool {
	var m struct{ Result, Error json.RawMessage }
	return json.Unmarshal(message, &m) == nil && (m.Result != nil || m.Error != nil)
}

// refuse answers what nobody knows the id of.
func (l *lines) refuse(code int64, why error) error {
	answer, err := json.Marshal(struct {
		Version string        `json:"jsonrpc"`
		ID      *int          `json:"id"`
		Error   jsonrpc.Error `json:"error"`
	}{"2.0", nil, jsonrpc.Error{Code: code, Message: oneLine(why).Error()}})
	if err != nil {
		return err
	}
	_, err = l.to.Write(append(answer, '\n'))
	return err
}
