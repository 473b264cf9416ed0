package chat

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

const (
	maxEventLine = 32 << 20 // bytes
	lineBuffer   = 64 << 10
)

// Event is an event of a stream. Its data is valid until the next one is read.
type Event struct {
	Name string
	Data []byte
}

// Events reads a stream of server-sent events (html.spec.whatwg.org, 9.2).
type Events struct {
	body   io.ReadCloser
	header http.Header
	lines  *bufio.Scanner
	data   []byte
}

func newEvents(resp *http.Response) *Events {
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, lineBuffer), maxEventLine)
	return &Events{body: resp.Body, header: resp.Header, lines: lines}
}

// Next returns the next event that has data. It returns io.EOF at the end of the stream; an event without its
// final empty line is lost.
func (e *Events) Next() (Event, error) {
	var name string
	e.data = e.data[:0]
	for e.lines.Scan() {
		if len(e.lines.Bytes()) == 0 {
			if len(e.data) > 0 {
				return Event{name, bytes.TrimSuffix(e.data, []byte("\n"))}, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(e.lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			e.data = append(append(e.data, value...), '\n')
		}
	}
	return Event{}, cmp.Or(e.lines.Err(), io.EOF)
}

// Close ends the request.
func (e *Events) Close() error { return e.body.Close() }

// Refusal returns the error of an event that ends the stream, as if the API had answered the request with
// status. Zero means that the status is not known.
func (e *Events) Refusal(status int, data []byte) *StatusError {
	return &StatusError{Status: cmp.Or(status, http.StatusInternalServerError), Header: e.header, Body: bytes.Clone(data)}
}

// Decode decodes the data of an event. Members of another type than expected stay empty, because servers differ
// in members that do not matter.
func (e Event) Decode(into any) error {
	err := json.Unmarshal(e.Data, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}
