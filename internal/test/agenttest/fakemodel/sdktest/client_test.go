package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// round is what a client makes of one answer.
type round struct {
	text  string
	calls []fakemodel.ToolCall
	usage fakemodel.TokenCount
	stop  string
	next  func(result string) (round, error) // with the result of the first call
}

// client asks for an answer to a prompt over one API, with a system prompt
// "be good" and a tool "look".
type client func(ctx context.Context, url, prompt string, stream bool) (round, error)

var clients = map[string]client{"/v1/messages": askAnthropic, "/v1/chat/completions": askChat, "/v1/responses": askResponses}

func askAnthropic(ctx context.Context, url, prompt string, stream bool) (round, error) {
	c := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("dummy"), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: "some-model", MaxTokens: 100, System: []anthropic.TextBlockParam{{Text: "be good"}},
		Tools:    []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "look"}}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
	}
	ask := func() (m *anthropic.Message, err error) {
		if !stream {
			return c.Messages.New(ctx, params)
		}
		m = &anthropic.Message{}
		events := c.Messages.NewStreaming(ctx, params)
		for events.Next() && err == nil {
			err = m.Accumulate(events.Current())
		}
		return m, errors.Join(err, events.Err())
	}
	var turn func() (round, error)
	turn = func() (round, error) {
		m, err := ask()
		if err != nil {
			return round{}, err
		}
		r := round{stop: string(m.StopReason)}
		for _, b := range m.Content {
			r.text += b.Text
			if b.Type == "tool_use" {
				r.calls = append(r.calls, fakemodel.ToolCall{ID: b.ID, Tool: b.Name, Input: b.Input})
			}
		}
		u := m.Usage
		r.usage = fakemodel.TokenCount{Input: int(u.InputTokens + u.CacheReadInputTokens), Output: int(u.OutputTokens), Cached: int(u.CacheReadInputTokens)}
		r.next = func(result string) (round, error) {
			params.Messages = append(params.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(r.calls[0].ID, result, true)))
			return turn()
		}
		return r, nil
	}
	return turn()
}

func openAI(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("dummy"), option.WithMaxRetries(0))
}

func askChat(ctx context.Context, url, prompt string, stream bool) (round, error) {
	c := openAI(url)
	params := openai.ChatCompletionNewParams{
		Model: "some-model", Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be good"), openai.UserMessage(prompt)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "look"})},
	}
	ask := func() (*openai.ChatCompletion, error) {
		if !stream {
			return c.Chat.Completions.New(ctx, params)
		}
		var all openai.ChatCompletionAccumulator
		chunks := c.Chat.Completions.NewStreaming(ctx, params)
		for chunks.Next() {
			if !all.AddChunk(chunks.Current()) {
				return nil, errors.New("a chunk that does not go with the others")
			}
		}
		return &all.ChatCompletion, chunks.Err()
	}
	var turn func() (round, error)
	turn = func() (round, error) {
		m, err := ask()
		if err != nil {
			return round{}, err
		}
		u, said := m.Usage, m.Choices[0].Message
		r := round{text: said.Content, stop: m.Choices[0].FinishReason}
		r.usage = fakemodel.TokenCount{Input: int(u.PromptTokens), Output: int(u.CompletionTokens), Cached: int(u.PromptTokensDetails.CachedTokens)}
		for _, call := range said.ToolCalls {
			r.calls = append(r.calls, fakemodel.ToolCall{ID: call.ID, Tool: call.Function.Name, Input: json.RawMessage(call.Function.Arguments)})
		}
		r.next = func(result string) (round, error) {
			params.Messages = append(params.Messages, said.ToParam(), openai.ToolMessage(result, r.calls[0].ID))
			return turn()
		}
		return r, nil
	}
	return turn()
}

func askResponses(ctx context.Context, url, prompt string, stream bool) (round, error) {
	c := openAI(url)
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser)}
	ask := func() (*responses.Response, error) {
		params := responses.ResponseNewParams{
			Model: "some-model", Instructions: openai.String("be good"), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
			Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("look", nil, false)},
		}
		if !stream {
			return c.Responses.New(ctx, params)
		}
		var whole *responses.Response
		deltas := ""
		events := c.Responses.NewStreaming(ctx, params)
		for events.Next() {
			e := events.Current()
			deltas += e.AsResponseOutputTextDelta().Delta
			if e.Type == "response.completed" {
				whole = &e.Response
			}
		}
		if events.Err() == nil && (whole == nil || !strings.HasPrefix(deltas, whole.OutputText())) {
			return nil, errors.New("the deltas are not the whole: " + deltas)
		}
		return whole, events.Err()
	}
	var turn func() (round, error)
	turn = func() (round, error) {
		m, err := ask()
		if err != nil {
			return round{}, err
		}
		u := m.Usage
		r := round{text: m.OutputText(), stop: string(m.Status)}
		r.usage = fakemodel.TokenCount{Input: int(u.InputTokens), Output: int(u.OutputTokens), Cached: int(u.InputTokensDetails.CachedTokens)}
		for _, item := range m.Output {
			if call := item.AsFunctionCall(); item.Type == "function_call" {
				r.calls = append(r.calls, fakemodel.ToolCall{ID: call.CallID, Tool: call.Name, Input: json.RawMessage(call.Arguments)})
				input = append(input, responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name))
			}
		}
		r.next = func(result string) (round, error) {
			output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
			output.OfFunctionCallOutput.CallID = openai.String(r.calls[0].ID)
			input = append(input, output)
			return turn()
		}
		return r, nil
	}
	return turn()
}
