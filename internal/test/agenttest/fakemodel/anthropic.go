package fakemodel

import (
	"crypto/rand"
	"encoding/json"
)

// anthropic is the API of POST /v1/messages.
type anthropic struct{}

func (anthropic) decode(body []byte) (Request, error) {
	var in struct {
		Model    string
		Stream   bool
		System   content
		Tools    []struct{ Name string }
		Messages []struct {
			Role    Role
			Content content
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	q := Request{Model: in.Model, Stream: in.Stream, System: in.System.text()}
	for _, t := range in.Tools {
		q.Tools = append(q.Tools, t.Name)
	}
	for _, m := range in.Messages {
		q.Messages = append(q.Messages, m.Content.message(m.Role))
	}
	return q, nil
}

func (c content) message(role Role) Message {
	m := Message{Role: role, Texts: c.texts()}
	for _, b := range c {
		switch b.Type {
		case "tool_use":
			m.Calls = append(m.Calls, ToolCall{b.ID, b.Name, b.Input})
		case "tool_result":
			m.Results = append(m.Results, Result{b.ToolUseID, b.Content.text(), b.IsError})
		}
	}
	return m
}

// blocks returns the blocks of an answer. All but the text come in one piece.
func (anthropic) blocks(r Reply) []object {
	var blocks []object
	if r.Think != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": r.Think, "signature": "ZmFrZQ=="})
	}
	if len(r.Pieces) > 0 {
		blocks = append(blocks, object{"type": "text", "text": r.Text()})
	}
	for _, c := range r.Calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": c.Input})
	}
	return blocks
}

func (anthropic) message(q Request, content []object, usage object) object {
	return object{
		"id": "msg_" + rand.Text(), "type": "message", "role": Assistant, "model": q.Model, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
}

func (anthropic) usage(u TokenCount, output int) object {
	return object{
		"input_tokens": u.Input - u.Cached, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": 0,
		"output_tokens": output, "service_tier": "standard",
	}
}

func (anthropic) stop(r Reply) string {
	if len(r.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func (a anthropic) plain(q Request, r Reply) any {
	m := a.message(q, a.blocks(r), a.usage(r.Usage, r.Usage.Output))
	m["stop_reason"] = a.stop(r)
	return m
}

func (a anthropic) stream(s *stream, q Request, r Reply) {
	send := func(event string, data object) {
		data["type"] = event
		s.send(event, data)
	}
	send("message_start", object{"message": a.message(q, []object{}, a.usage(r.Usage, 1))})
	send("ping", object{})
	s.opened()
	for i, b := range a.blocks(r) {
		a.block(s, i, b, func(event string, data object) {
			data["index"] = i
			send(event, data)
		})
	}
	s.cut()
	send("message_delta", object{
		"delta": object{"stop_reason": a.stop(r), "stop_sequence": nil},
		"usage": a.usage(r.Usage, r.Usage.Output),
	})
	send("message_stop", object{})
}

// block sends a block, which starts empty and is filled by deltas.
func (anthropic) block(s *stream, i int, b object, send func(event string, data object)) {
	start, delta := object{"type": b["type"]}, func(d object) { send("content_block_delta", object{"delta": d}) }
	switch b["type"] {
	case "thinking":
		start["thinking"], start["signature"] = "", ""
	case "text":
		start["text"] = ""
	default:
		start["id"], start["name"], start["input"] = b["id"], b["name"], object{}
	}
	send("content_block_start", object{"content_block": start})
	switch b["type"] {
	case "thinking":
		delta(object{"type": "thinking_delta", "thinking": b["thinking"]})
		delta(object{"type": "signature_delta", "signature": b["signature"]})
	case "text":
		s.speak(func(piece string) { delta(object{"type": "text_delta", "text": piece}) })
	default:
		delta(object{"type": "input_json_delta", "partial_json": string(b["input"].(json.RawMessage))})
	}
	send("content_block_stop", object{})
}
