package fakemodel_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func TestOtherPaths(t *testing.T) {
	s := fakemodel.Start(t)
	for _, tc := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"HEAD", "/", "", 200, ""},
		{"GET", "/v1/models", "", 200, `"id":"fake-model"`},
		{"POST", "/v1/messages/count_tokens?beta=true", "{}", 200, `{"input_tokens":1000}`},
		{"POST", "/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, 200, "ECHO: x"},
		{"POST", "/v1/responses", `{"input":"y"}`, 200, "ECHO: y"},
		{"POST", "/v1/messages", `{"system":"s","messages":[{"role":"user","content":"z"}]}`, 200, "ECHO: z"},
		{"POST", "/v1/messages", `{`, 400, "fakemodel: unexpected end of JSON input"},
		{"GET", "/v1/others", "", 404, "fakemodel: no GET /v1/others"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, s.URL+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tc.status || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s %s: %d %s %v", tc.method, tc.path, resp.StatusCode, body, err)
		}
	}
}
