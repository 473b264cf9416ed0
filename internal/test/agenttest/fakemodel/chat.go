package fakemodel

import (
	"crypto/rand"
	"encoding/json"
	"time"
)

// chat is the API of POST /v1/chat/completions.
type chat struct{}

// chatMessage is a message of the API.
type chatMessage struct {
	Role       string
	Content    content
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (chat) decode(body []byte) (Request, error) {
	var in struct {
		Model    string
		Stream   bool
		Tools    []struct{ Function struct{ Name string } }
		Messages []chatMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	q := Request{Model: in.Model, Stream: in.Stream}
	for _, t := range in.Tools {
		q.Tools = append(q.Tools, t.Function.Name)
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "system", "developer":
			q.System = join(q.System, m.Content.text())
		default:
			q.Messages = append(q.Messages, m.message())
		}
	}
	return q, nil
}

func (m chatMessage) message() Message {
	if m.Role == "tool" {
		return Message{Role: User, Results: []Result{{CallID: m.ToolCallID, Text: m.Content.text()}}}
	}
	out := Message{Role: Role(m.Role), Texts: m.Content.texts()}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, ToolCall{c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)})
	}
	return out
}

func (chat) calls(r Reply) []object {
	var calls []object
	for i, c := range r.Calls {
		calls = append(calls, object{
			"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Tool, "arguments": string(c.Input)},
		})
	}
	return calls
}

func (chat) finish(r Reply) string {
	if len(r.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (chat) usage(u TokenCount) object {
	return object{
		"prompt_tokens": u.Input, "prompt_tokens_details": object{"cached_tokens": u.Cached},
		"completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
	}
}

func (c chat) plain(q Request, r Reply) any {
	message := object{"role": Assistant, "content": r.Text()}
	if len(r.Calls) > 0 {
		message["tool_calls"] = c.calls(r)
	}
	return object{
		"id": "chatcmpl_" + rand.Text(), "object": "chat.completion", "created": time.Now().Unix(), "model": q.Model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": c.finish(r)}}, "usage": c.usage(r.Usage),
	}
}

func (c chat) stream(s *stream, q Request, r Reply) {
	id, created := "chatcmpl_"+rand.Text(), time.Now().Unix()
	chunk := func(choices []object, usage any) {
		s.send("", object{
			"id": id, "object": "chat.completion.chunk", "created": created, "model": q.Model, "choices": choices, "usage": usage,
		})
	}
	delta := func(d object, finish any) {
		chunk([]object{{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	delta(object{"role": Assistant, "content": ""}, nil)
	s.opened()
	s.speak(func(piece string) { delta(object{"content": piece}, nil) })
	s.cut()
	if len(r.Calls) > 0 {
		delta(object{"tool_calls": c.calls(r)}, nil)
	}
	delta(object{}, c.finish(r))
	chunk([]object{}, c.usage(r.Usage))
	s.done()
}
