package anthropic

import (
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

// params are the request. Its prefix is cached up to four marks: the tools, the
// system prompt, the artifacts, and what the tools gave last.
func params(c chat.Conversation) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: c.Model, MaxTokens: int64(c.MaxOutput), Messages: messages(c)}
	if c.System != "" {
		p.System = []sdk.TextBlockParam{{Text: c.System, CacheControl: mark}}
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
			tool.CacheControl = mark
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &tool})
	}
	if c.MustAnswer { // the tools stay: the messages tell of their use
		none := sdk.NewToolChoiceNoneParam()
		p.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &none}
	}
	return p
}

// mark ends a prefix that is worth caching.
var mark = sdk.NewCacheControlEphemeralParam()

func messages(c chat.Conversation) []sdk.MessageParam {
	var first []sdk.ContentBlockParamUnion
	if c.Context != "" {
		first = append(first, sdk.ContentBlockParamUnion{OfText: &sdk.TextBlockParam{Text: c.Context, CacheControl: mark}})
	}
	all := []sdk.MessageParam{sdk.NewUserMessage(append(first, sdk.NewTextBlock(c.User))...)}
	for i, x := range c.Exchanges {
		all = append(all, said(x.Said.Native.(sdk.Message)), results(x, i == len(c.Exchanges)-1))
	}
	return all
}

// said is a message as it is sent back: the API makes empty texts and takes
// none.
func said(m sdk.Message) sdk.MessageParam {
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(b sdk.ContentBlockUnion) bool {
		return b.Type == "text" && b.Text == ""
	})
	return m.ToParam()
}

func results(x chat.Exchange, last bool) sdk.MessageParam {
	var blocks []sdk.ContentBlockParamUnion
	for _, r := range x.Results {
		blocks = append(blocks, sdk.NewToolResultBlock(r.ID, r.Text, r.Failed))
	}
	if last {
		blocks[len(blocks)-1].OfToolResult.CacheControl = mark
	}
	return sdk.NewUserMessage(blocks...)
}
