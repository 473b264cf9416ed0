package anthropic

import (
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

// newParams returns the request. Its prefix is cached up to four marks: the tools, the system prompt, the
// artifacts, and the last results of the tools.
func newParams(c chat.Conversation) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: c.Model, MaxTokens: int64(c.MaxOutput), Messages: newMessages(c)}
	if c.System != "" {
		p.System = []sdk.TextBlockParam{{Text: c.System, CacheControl: cacheMark}}
	}
	if c.Temperature != nil {
		p.Temperature = sdk.Float(*c.Temperature)
	}
	for i, t := range c.Tools {
		tool := sdk.ToolParam{
			Name: t.Name, Description: sdk.String(t.Description),
			InputSchema: sdk.ToolInputSchemaParam{Properties: t.Properties, Required: t.Required},
		}
		if i == len(c.Tools)-1 {
			tool.CacheControl = cacheMark
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &tool})
	}
	if c.MustAnswer { // the tools stay, because the messages mention their use
		none := sdk.NewToolChoiceNoneParam()
		p.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &none}
	}
	return p
}

// cacheMark ends a prefix that is worth caching.
var cacheMark = sdk.NewCacheControlEphemeralParam()

// newMessages returns the messages of the conversation.
func newMessages(c chat.Conversation) []sdk.MessageParam {
	var first []sdk.ContentBlockParamUnion
	if c.Context != "" {
		first = append(first, sdk.ContentBlockParamUnion{OfText: &sdk.TextBlockParam{Text: c.Context, CacheControl: cacheMark}})
	}
	all := []sdk.MessageParam{sdk.NewUserMessage(append(first, sdk.NewTextBlock(c.User))...)}
	for i, x := range c.Exchanges {
		all = append(all, sentBack(x.Said.Native.(sdk.Message)), toolResults(x, i == len(c.Exchanges)-1))
	}
	return all
}

// sentBack returns a message in the form in which it is sent back. The API produces empty texts but does
// not accept them.
func sentBack(m sdk.Message) sdk.MessageParam {
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(b sdk.ContentBlockUnion) bool {
		return b.Type == "text" && b.Text == ""
	})
	return m.ToParam()
}

// toolResults returns the message with the results of an exchange.
func toolResults(x chat.Exchange, last bool) sdk.MessageParam {
	var blocks []sdk.ContentBlockParamUnion
	for _, r := range x.Results {
		blocks = append(blocks, sdk.NewToolResultBlock(r.ID, r.Text, r.Failed))
	}
	if last {
		blocks[len(blocks)-1].OfToolResult.CacheControl = cacheMark
	}
	return sdk.NewUserMessage(blocks...)
}
