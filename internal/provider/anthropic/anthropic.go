// Package anthropic is the provider on Anthropic's Messages API.
package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// Config says which model to ask, and how. It is complete: the SDK
// reads neither the environment nor files.
type Config struct {
	Model string
	// Key is sent as X-Api-Key, Token as a bearer token. One of them is enough.
	Key, Token string
	BaseURL    string // empty: Anthropic's own
	// Redact removes the worker's secrets, Key and Token among them, from all texts.
	// Nil removes none.
	Redact *redact.Redactor
	// HTTP makes the requests; nil is http.DefaultClient, which heeds the proxy
	// variables of the environment. Redirects are never followed.
	HTTP *http.Client
	// Window is the model's window in tokens; zero goes by the model's name.
	Window int
	Idle   time.Duration // see chat.Config
	Price  chat.Price
}

// FromEnv returns a Config from the variables that Anthropic's own tools read:
// ANTHROPIC_API_KEY or else ANTHROPIC_AUTH_TOKEN, and ANTHROPIC_BASE_URL. An
// empty variable counts as none.
func FromEnv(lookup func(string) (string, bool), model string) (Config, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	c := Config{Model: strings.TrimSpace(model), Key: get("ANTHROPIC_API_KEY"), BaseURL: get("ANTHROPIC_BASE_URL")}
	if c.Key == "" {
		c.Token = get("ANTHROPIC_AUTH_TOKEN")
	}
	switch {
	case c.Model == "":
		return Config{}, errors.New("no model is named: give one such as claude-sonnet-5")
	case c.Key == "" && c.Token == "":
		return Config{}, errors.New("ANTHROPIC_API_KEY is not set: give the worker a key of the Anthropic API, or a token as ANTHROPIC_AUTH_TOKEN")
	}
	if err := chat.CheckURL(c.BaseURL); err != nil {
		return Config{}, fmt.Errorf("ANTHROPIC_BASE_URL: %w", err)
	}
	return c, nil
}

// New returns the provider.
func New(c Config) provider.Provider {
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(),
		option.WithHTTPClient(chat.Client(c.HTTP)),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(), // else the environment decides
	}
	if c.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(c.BaseURL))
	}
	if c.Key != "" {
		opts = append(opts, option.WithAPIKey(c.Key))
	}
	if c.Token != "" {
		opts = append(opts, option.WithAuthToken(c.Token))
	}
	model := modelOf(c.Model)
	if c.Window > 0 {
		model.Window = c.Window
	}
	return chat.New(chat.Config{
		Name: "anthropic", Model: model, Redact: c.Redact, Idle: c.Idle, Price: c.Price,
		// The service by itself: a client would read the environment.
		Wire: wire{sdk.NewMessageService(opts...)},
	})
}
