package openclaw

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// address is the address of a gateway, and the token for it. Its String leaves
// out the token.
type address struct {
	url   *url.URL
	token string
}

// newAddress refuses an address to which the token would be sent over a network
// in the clear.
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

// hideToken removes the token from a text.
func (a address) hideToken(text string) string {
	if a.token == "" {
		return text
	}
	return strings.ReplaceAll(text, a.token, "[token]")
}

func unreachableError(at address, resp *http.Response, err error) error {
	if resp != nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		return &failure.Error{Code: failure.Auth, Message: fmt.Sprintf("the gateway at %s: HTTP %s", at, resp.Status)}
	}
	if deeper, ok := errors.AsType[*url.Error](err); ok {
		err = deeper.Err
	}
	return fmt.Errorf("%w: no gateway at %s: %w", agent.ErrUnavailable, at, err)
}
