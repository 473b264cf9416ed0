package openclaw

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// address is where a gateway is, and the token that lets us in. Its text is
// without the token.
type address struct {
	url   *url.URL
	token string
}

// newAddress refuses to send a token over a network in the clear.
func newAddress(at, token string) (address, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return address{}, fmt.Errorf("%w: the gateway's address: want ws://host:port or wss://host", agent.ErrUnavailable)
	}
	switch ip := net.ParseIP(u.Hostname()); {
	case u.Scheme == "wss":
	case u.Scheme != "ws":
		return address{}, fmt.Errorf("%w: the gateway's address: want ws or wss, not %s", agent.ErrUnavailable, u.Scheme)
	case u.Hostname() != "localhost" && !ip.IsLoopback():
		return address{}, fmt.Errorf("%w: %s is not this machine: want wss, or the token goes in the clear", agent.ErrUnavailable, at)
	}
	return address{u, token}, nil
}

func (a address) String() string { return a.url.String() }

// clean keeps the token out of what is said further.
func (a address) clean(text string) string {
	if a.token == "" {
		return text
	}
	return strings.ReplaceAll(text, a.token, "[token]")
}

func unreachable(at address, resp *http.Response, err error) error {
	if resp != nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		return &provider.Error{Code: provider.Auth, Message: fmt.Sprintf("the gateway at %s: HTTP %s", at, resp.Status)}
	}
	if deeper, ok := errors.AsType[*url.Error](err); ok {
		err = deeper.Err
	}
	return fmt.Errorf("%w: no gateway at %s: %w", agent.ErrUnavailable, at, err)
}
