package fakemodel

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// responses is the API of POST /v1/responses.
type responses struct{}

// item is an item of the input, of any type.
type item struct {
	Type      string
	Role      string
	Content   content
	CallID    string `json:"call_id"`
	Namespace string
	Name      string
	Arguments string
	Input     string // of a custom_tool_call
	Output    output
}

// output is the result of a call: content, or anything else.
type output string

func (o *output) UnmarshalJSON(b []byte) error {
	var c content
	if json.Unmarshal(b, &c) == nil {
		*o = output(c.text())
	} else {
		*o = output(b)
	}
	return nil
}

// input is a text, or a list of items.
type input []item

func (in *input) UnmarshalJSON(b []byte) error {
	if !bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, (*[]item)(in))
	}
	*in = input{{Role: string(User)}}
	return json.Unmarshal(b, &(*in)[0].Content)
}

func (responses) decode(body []byte) (Request, error) {
	var in struct {
		Model        string
		Stream       bool
		Instructions string
		Tools        []struct{ Type, Name string }
		Input        input
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	q := Request{Model: in.Model, Stream: in.Stream, System: in.Instructions}
	for _, t := range in.Tools {
		if t.Name == "" {
			t.Name = t.Type // of a built-in kind
		}
		q.Tools = append(q.Tools, t.Name)
	}
	for _, i := range in.Input {
		if i.Role == "system" || i.Role == "developer" {
			q.System = join(q.System, i.Content.text())
		} else {
			q.Messages = append(q.Messages, i.message())
		}
	}
	return q, nil
}

func (i item) message() Message {
	switch {
	case strings.HasSuffix(i.Type, "_call_output"):
		return Message{Role: User, Results: []Result{{CallID: i.CallID, Text: string(i.Output)}}}
	case i.Type == "function_call":
		name := i.Name
		if i.Namespace != "" {
			name = i.Namespace + "/" + name
		}
		return Message{Role: Assistant, Calls: []ToolCall{{i.CallID, name, json.RawMessage(i.Arguments)}}}
	case i.Type == "custom_tool_call":
		return Message{Role: Assistant, Calls: []ToolCall{{i.CallID, i.Name, json.RawMessage(encode(i.Input))}}}
	default:
		return Message{Role: Role(i.Role), Texts: i.Content.texts()}
	}
}

// items returns the items of an answer.
func (responses) items(r Reply) []object {
	var items []object
	if len(r.Pieces) > 0 {
		items = append(items, object{
			"id": "msg_" + rand.Text(), "type": "message", "role": Assistant, "status": "completed",
			"content": []object{{"type": "output_text", "text": r.Text(), "annotations": []object{}}},
		})
	}
	for _, c := range r.Calls {
		made := object{
			"id": "fc_" + rand.Text(), "type": "function_call", "status": "completed",
			"call_id": c.ID, "name": c.Tool, "arguments": string(c.Input),
		}
		if space, name, ok := strings.Cut(c.Tool, "/"); ok { // a tool of a group: Codex shows the tools of an MCP server so
			made["namespace"], made["name"] = space, name
		}
		items = append(items, made)
	}
	return items
}

func (responses) usage(u TokenCount) object {
	return object{
		"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.Cached},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": u.Input + u.Output,
	}
}

func (responses) response(q Request, status string, items []object, usage any) object {
	return object{
		"id": "resp_" + rand.Text(), "object": "response", "created_at": time.Now().Unix(), "status": status, "model": q.Model,
		"output": items, "usage": usage, "error": nil, "incomplete_details": nil,
	}
}

func (a responses) plain(q Request, r Reply) any {
	return a.response(q, "completed", a.items(r), a.usage(r.Usage))
}

func (a responses) stream(s *stream, q Request, r Reply) {
	number := 0
	send := func(event string, data object) {
		data["type"], data["sequence_number"] = event, number
		number++
		s.send(event, data)
	}
	response := a.response(q, "in_progress", []object{}, nil)
	send("response.created", object{"response": response})
	s.opened()
	items := a.items(r)
	for i, item := range items {
		a.item(s, item, func(event string, data object) {
			data["output_index"] = i
			send("response."+event, data)
		})
	}
	s.cut()
	response["status"], response["output"], response["usage"] = "completed", items, a.usage(r.Usage)
	send("response.completed", object{"response": response})
}

// item sends an item, which is added empty and filled by deltas.
func (a responses) item(s *stream, whole object, send func(event string, data object)) {
	started := maps.Clone(whole)
	started["status"] = "in_progress"
	if whole["type"] == "message" {
		started["content"] = []object{}
		send("output_item.added", object{"item": started})
		a.text(s, whole, send)
	} else {
		started["arguments"] = ""
		send("output_item.added", object{"item": started})
		send("function_call_arguments.delta", object{"item_id": whole["id"], "delta": whole["arguments"]})
		send("function_call_arguments.done", object{"item_id": whole["id"], "arguments": whole["arguments"]})
	}
	send("output_item.done", object{"item": whole})
}

// text sends the one part of a message.
func (responses) text(s *stream, message object, send func(event string, data object)) {
	part := message["content"].([]object)[0]
	of := func(data object) object {
		data["item_id"], data["content_index"] = message["id"], 0
		return data
	}
	send("content_part.added", of(object{"part": object{"type": "output_text", "text": "", "annotations": []object{}}}))
	s.speak(func(piece string) { send("output_text.delta", of(object{"delta": piece})) })
	send("output_text.done", of(object{"text": part["text"]}))
	send("content_part.done", of(object{"part": part}))
}
