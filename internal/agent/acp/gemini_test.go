package acp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// speakGemini serves a model by Google's API, as far as Gemini CLI uses it, and
// returns its URL.
func speakGemini(t *testing.T, model *fakemodel.Model) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ":countTokens") {
			fmt.Fprint(w, `{"totalTokens":100}`)
			return
		}
		var in geminiRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answerGemini(w, r, model.Reply(in.request()), strings.HasSuffix(r.URL.Path, ":streamGenerateContent"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type geminiRequest struct {
	Contents []struct {
		Role  string
		Parts []geminiPart
	}
	Tools []struct {
		Functions []struct{ Name string } `json:"functionDeclarations"`
	}
}

type geminiPart struct {
	Text     string
	Call     *geminiCall
	Response *struct {
		ID       string
		Response map[string]any
	} `json:"functionResponse"`
}

type geminiCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func (g geminiRequest) request() fakemodel.Request {
	q := fakemodel.Request{Model: "gemini", Stream: true}
	for _, t := range g.Tools {
		for _, f := range t.Functions {
			q.Tools = append(q.Tools, f.Name)
		}
	}
	for _, c := range g.Contents {
		m := fakemodel.Message{Role: fakemodel.User}
		if c.Role == "model" {
			m.Role = fakemodel.Assistant
		}
		for _, p := range c.Parts {
			if p.Text != "" {
				m.Texts = append(m.Texts, p.Text)
			}
			if r := p.Response; r != nil {
				m.Results = append(m.Results, fakemodel.Result{CallID: r.ID, Text: fmt.Sprint(r.Response)})
			}
		}
		q.Messages = append(q.Messages, m)
	}
	return q
}

func answerGemini(w http.ResponseWriter, r *http.Request, reply fakemodel.Reply, stream bool) {
	if f := reply.Fault; f != nil && f.Status != 0 {
		w.WriteHeader(f.Status)
		json.NewEncoder(w).Encode(object{"error": object{"code": f.Status, "status": f.Type, "message": f.Text}})
		return
	}
	send := func(parts []any, finish string) {
		c := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if finish != "" {
			c["finishReason"] = finish
		}
		u := reply.Usage
		b, err := json.Marshal(object{
			"candidates": []any{c}, "modelVersion": "gemini-fake", "responseId": "r",
			"usageMetadata": object{"promptTokenCount": u.Input, "candidatesTokenCount": u.Output, "totalTokenCount": u.Input + u.Output},
		})
		if err != nil {
			panic(err)
		}
		if stream {
			b = fmt.Appendf(nil, "data: %s\n\n", b)
		}
		w.Write(b)
		http.NewResponseController(w).Flush()
	}
	parts := []any{}
	for _, c := range reply.Calls {
		parts = append(parts, object{"functionCall": geminiCall{c.ID, c.Tool, c.Input}, "thoughtSignature": "ZmFrZQ=="})
	}
	if !stream {
		send(append(parts, object{"text": reply.Text()}), "STOP")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	http.NewResponseController(w).Flush()
	if f := reply.Fault; f != nil && f.Hang {
		<-r.Context().Done()
		return
	}
	for _, piece := range reply.Pieces {
		send([]any{object{"text": piece}}, "")
		select {
		case <-time.After(reply.Pace):
		case <-r.Context().Done():
			return
		}
	}
	if len(parts) == 0 {
		parts = append(parts, object{"text": ""})
	}
	send(parts, "STOP")
}
