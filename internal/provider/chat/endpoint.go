package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Endpoint is the URL of an API that takes JSON and answers with a stream of events.
type Endpoint struct {
	URL    string
	Header http.Header // credentials, and what the API demands; may be nil
	HTTP   *http.Client
}

// Send makes one POST and never repeats it. The caller closes the events. An answer that is no success is a
// *StatusError.
func (e Endpoint) Send(ctx context.Context, body any, line *Line) (*Events, error) {
	req, err := e.newRequest(ctx, body)
	if err != nil {
		return nil, err
	}
	resp, err := e.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if err := line.receive(resp); err != nil {
		return nil, err
	}
	return newEvents(resp), nil
}

// newRequest returns the request. Bytes that are not UTF-8 become U+FFFD.
func (e Endpoint) newRequest(ctx context.Context, body any) (*http.Request, error) {
	var content bytes.Buffer
	enc := json.NewEncoder(&content)
	enc.SetEscapeHTML(false) // code is full of these characters
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, &content)
	if err != nil {
		return nil, err
	}
	if e.Header != nil {
		req.Header = e.Header.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json") // as the official clients say, though it is a stream
	req.Header.Set("User-Agent", "ratchet")
	return req, nil
}
