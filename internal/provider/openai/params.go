package openai

import (
	sdk "github.com/openai/openai-go/v3"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
)

// newParams returns the request. Servers of other makers get only the parameters that all of them know.
func (w wire) newParams(c chat.Conversation) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model: c.Model, Messages: newMessages(c),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if w.official {
		p.PromptCacheKey = sdk.String(c.Key)
	}
	switch most := sdk.Int(int64(c.MaxOutput)); {
	case c.Bounded && w.official: // the official API deprecates MaxTokens
		p.MaxCompletionTokens = most
	case c.Bounded:
		p.MaxTokens = most
	}
	if c.Temperature != nil {
		p.Temperature = sdk.Float(*c.Temperature)
	}
	for _, t := range c.Tools {
		p.Tools = append(p.Tools, newFunction(t))
	}
	if c.MustAnswer { // the tools stay, because the messages mention their use
		p.ToolChoice.OfAuto = sdk.String(string(sdk.ChatCompletionToolChoiceOptionAutoNone))
	}
	return p
}

// newFunction converts a tool.
func newFunction(t explore.Tool) sdk.ChatCompletionToolUnionParam {
	schema := sdk.FunctionParameters{"type": "object", "properties": t.Properties}
	if len(t.Required) > 0 {
		schema["required"] = t.Required
	}
	return sdk.ChatCompletionFunctionTool(sdk.FunctionDefinitionParam{
		Name: t.Name, Description: sdk.String(t.Description), Parameters: schema,
	})
}

// newMessages returns the messages of the conversation.
func newMessages(c chat.Conversation) []sdk.ChatCompletionMessageParamUnion {
	var all []sdk.ChatCompletionMessageParamUnion
	if c.System != "" {
		all = append(all, sdk.SystemMessage(c.System))
	}
	all = append(all, sdk.UserMessage(c.Context+c.User))
	for _, x := range c.Exchanges {
		all = append(all, x.Said.Native.(*answer).toParam())
		for _, r := range x.Results {
			all = append(all, sdk.ToolMessage(r.Text, r.ID))
		}
	}
	return all
}
