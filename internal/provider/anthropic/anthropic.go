// Package anthropic is the provider on Anthropic's Messages API.
package anthropic

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

const (
	officialURL = "https://api.anthropic.com"
	apiVersion  = "2023-06-01"
)

// Config says which model to ask, and how. It is complete: nothing else comes from the environment.
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
	HTTP  *http.Client
	Idle  time.Duration // see chat.Config
	Price chat.Price
}

// KeyVariable names the variable that holds the key.
const KeyVariable = "ANTHROPIC_API_KEY"

// FromEnv returns a Config from the variables that Anthropic's own tools read:
// ANTHROPIC_API_KEY or else ANTHROPIC_AUTH_TOKEN, and ANTHROPIC_BASE_URL. An
// empty variable counts as none.
func FromEnv(lookup func(string) (string, bool), model string) (Config, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	c := Config{Model: strings.TrimSpace(model), Key: get(KeyVariable), BaseURL: get("ANTHROPIC_BASE_URL")}
	if c.Key == "" {
		c.Token = get("ANTHROPIC_AUTH_TOKEN")
	}
	switch {
	case c.Model == "":
		return Config{}, errors.New("no model given: name one, such as claude-sonnet-5")
	case c.Key == "" && c.Token == "":
		return Config{}, errors.New(KeyVariable + " is not set: give the worker a key of the Anthropic API, or a token as ANTHROPIC_AUTH_TOKEN")
	}
	if err := chat.CheckURL(c.BaseURL); err != nil {
		return Config{}, fmt.Errorf("ANTHROPIC_BASE_URL: %w", err)
	}
	return c, nil
}

// New returns the provider.
func New(c Config) provider.Provider {
	return chat.New(chat.Config{
		Name: "anthropic", Model: chat.ModelOf(c.Model, families, reserve), Redact: c.Redact, Idle: c.Idle, Price: c.Price,
		Wire: wire{chat.Endpoint{
			URL:    strings.TrimRight(cmp.Or(c.BaseURL, officialURL), "/") + "/v1/messages",
			Header: c.newHeader(),
			HTTP:   chat.Client(c.HTTP),
		}},
	})
}

// newHeader returns the credentials and the version of the API.
func (c Config) newHeader() http.Header {
	h := http.Header{"Anthropic-Version": {apiVersion}}
	if c.Key != "" {
		h.Set("X-Api-Key", c.Key)
	}
	if c.Token != "" {
		h.Set("Authorization", "Bearer "+c.Token)
	}
	return h
}
