// Package openai is the provider on OpenAI's Chat Completions API, and on all servers that speak it,
// including the servers of local models.
package openai

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

const officialURL = "https://api.openai.com/v1"

// Config says which model to ask, and how. It is complete: nothing else comes from the environment.
type Config struct {
	Model   string
	Key     string // empty: none is sent
	BaseURL string // empty: OpenAI's own; with the version, as in http://localhost:11434/v1
	// Redact removes the worker's secrets, Key among them, from all texts. Nil
	// removes none.
	Redact *redact.Redactor
	// HTTP makes the requests; nil is http.DefaultClient, which heeds the proxy
	// variables of the environment. Redirects are never followed.
	HTTP  *http.Client
	Idle  time.Duration // see chat.Config
	Price chat.Price
}

// KeyVariable names the variable that holds the key.
const KeyVariable = "OPENAI_API_KEY"

// FromEnv returns a Config from the variables that OpenAI's own tools read:
// OPENAI_API_KEY and OPENAI_BASE_URL. One of them is enough. An empty variable
// counts as none.
func FromEnv(lookup func(string) (string, bool), model string) (Config, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	c := Config{Model: strings.TrimSpace(model), Key: get(KeyVariable), BaseURL: get("OPENAI_BASE_URL")}
	switch {
	case c.Model == "":
		return Config{}, errors.New("no model given: name one, such as gpt-5")
	case c.Key == "" && isOfficial(c.BaseURL):
		return Config{}, errors.New(KeyVariable + " is not set: give the worker a key of the OpenAI API, or the address of another server as OPENAI_BASE_URL")
	}
	if err := chat.CheckURL(c.BaseURL); err != nil {
		return Config{}, fmt.Errorf("OPENAI_BASE_URL: %w", err)
	}
	return c, nil
}

// isOfficial reports whether a base URL is OpenAI's own, of any region.
func isOfficial(base string) bool {
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	return u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".api.openai.com")
}

// New returns the provider.
func New(c Config) provider.Provider {
	completions := chat.Endpoint{
		URL:  strings.TrimRight(cmp.Or(c.BaseURL, officialURL), "/") + "/chat/completions",
		HTTP: chat.Client(c.HTTP),
	}
	if c.Key != "" {
		completions.Header = http.Header{"Authorization": {"Bearer " + c.Key}}
	}
	return chat.New(chat.Config{
		Name: "openai", Model: chat.ModelOf(c.Model, families, reserve), Redact: c.Redact, Idle: c.Idle, Price: c.Price,
		Wire: wire{completions, isOfficial(c.BaseURL)},
	})
}
