package forge

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client acts on one repository.
type Client struct {
	server  Server
	repo    Repo
	http    *http.Client
	rate    Rate
	scopes  *string // of a classic token, as GitHub reports them; nil: it does not
	granted grant   // by an app
}

// MayChangeWorkflows reports whether the token may push changes of .github/workflows. Of a token whose permissions the
// server does not report, which a fine-grained one is, it says yes. The client has made a call before.
func (c *Client) MayChangeWorkflows() bool {
	if c.server.App != nil {
		return c.granted.Permissions["workflows"] == "write"
	}
	return c.scopes == nil || slices.Contains(strings.Fields(strings.ReplaceAll(*c.scopes, ",", " ")), "workflow")
}

// Rate is what the server said last of its limit of calls.
type Rate struct {
	Limit     int       `json:"limit"` // zero: it has said nothing
	Remaining int       `json:"remaining"`
	Reset     time.Time `json:"reset,omitzero"`
}

// Rate returns what the server said last of its limit of calls. A client makes one call at a time.
func (c *Client) Rate() Rate { return c.rate }

func rateOf(h http.Header) (r Rate) {
	r.Limit, _ = strconv.Atoi(h.Get("X-RateLimit-Limit"))
	r.Remaining, _ = strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if at, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		r.Reset = time.Unix(at, 0)
	}
	return r
}

// Bounds of one call.
const (
	patience  = 30 * time.Second
	maxAnswer = 8 << 20 // bytes
	maxPages  = 20      // of pull requests that are looked through
)

// Open returns the client of a repository on a server.
func (s Server) Open(r Repo) (*Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", s.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &Client{server: s, repo: r, http: &http.Client{
		Transport: transport, Timeout: patience,
		// A redirect of a renamed repository would be followed with the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// PushURL returns the URL that git pushes to.
func (c *Client) PushURL() string {
	return c.server.URL + "/" + c.repo.Owner + "/" + c.repo.Name + ".git"
}

// Credentials returns the account and the password with which git pushes: both kinds take a token as the password of
// any account.
func (c *Client) Credentials(ctx context.Context) (user, password string, err error) {
	password, err = c.token(ctx)
	return "x-access-token", password, err
}

// CA returns the file with the certificates that the server's is checked by; empty: the system's.
func (c *Client) CA() string { return c.server.CA }

// base returns the URL of the API.
func (c *Client) base() string {
	switch {
	case c.server.Kind == Gitea:
		return c.server.URL + "/api/v1"
	case c.server.Host() == "github.com":
		return "https://api.github.com"
	}
	return c.server.URL + "/api/v3"
}

// Error is an answer that is no success.
type Error struct {
	Code    int           // of HTTP; 0: there was no answer
	Message string        // the server's
	Wait    time.Duration // how long the server asks to wait; zero: it does not say
	Err     error         // why there was no answer
}

func (e *Error) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("the server does not answer: %v", e.Err)
	}
	return fmt.Sprintf("%d %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Retriable reports whether the same call may succeed later.
func (e *Error) Retriable() bool {
	return e.Code == 0 || e.Code >= 500 || e.Code == http.StatusTooManyRequests || e.Code == http.StatusRequestTimeout || e.Wait > 0
}

// ErrUnchanged is returned for an answer that is known already.
var ErrUnchanged = errors.New("it has not changed")

// isCode reports whether the error is an answer with one of the codes.
func isCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// call sends one request below the repository's path, or to an absolute URL, and decodes the answer into out, if it is
// not nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	_, err := c.ask(ctx, method, path, "", in, out)
	return err
}

// ask is call for an answer that is known by its entity tag; empty: none is. It returns the tag of the answer. Where the
// server has no other, the error is ErrUnchanged and out is left as it is.
func (c *Client) ask(ctx context.Context, method, path, known string, in, out any) (tag string, err error) {
	tag, err = c.askOnce(ctx, method, path, known, in, out)
	if app := c.server.App; app != nil && isCode(err, http.StatusUnauthorized) && app.forget(c.repo, c.granted.Token) { // its end came before its time
		tag, err = c.askOnce(ctx, method, path, known, in, out)
	}
	return tag, err
}

func (c *Client) askOnce(ctx context.Context, method, path, known string, in, out any) (tag string, err error) {
	req, err := c.newRequest(ctx, method, path, in)
	if err != nil {
		return "", err
	}
	if known != "" {
		req.Header.Set("If-None-Match", known)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.reportAnswer(0)
		return "", &Error{Err: withoutURL(err)}
	}
	defer resp.Body.Close()
	if r := rateOf(resp.Header); r.Limit > 0 {
		c.rate = r
	}
	if words := resp.Header.Values("X-OAuth-Scopes"); len(words) > 0 && c.server.Kind == GitHub {
		c.scopes = &words[0]
	}
	c.reportAnswer(resp.StatusCode)
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return "", &Error{Err: withoutURL(err)}
	case resp.StatusCode == http.StatusNotModified && known != "":
		return known, ErrUnchanged
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return "", answerError(resp, b)
	case len(b) > maxAnswer:
		return "", &Error{Code: resp.StatusCode, Message: fmt.Sprintf("an answer of more than %d bytes", maxAnswer)}
	case out == nil:
		return resp.Header.Get("ETag"), nil
	}
	if err := json.Unmarshal(b, out); err != nil { // a proxy's page, or an answer that was cut off
		return "", &Error{Err: fmt.Errorf("unexpected answer: %w", err)}
	}
	return resp.Header.Get("ETag"), nil
}

// newRequest returns a request with the token. A path is below the repository's.
func (c *Client) newRequest(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	target := path
	if strings.HasPrefix(path, "/") {
		target = c.base() + "/repos/" + url.PathEscape(c.repo.Owner) + "/" + url.PathEscape(c.repo.Name) + strings.TrimSuffix(path, "/")
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	token, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "ratchet")
	req.Header.Set("Accept", "application/json")
	if c.server.Kind == GitHub {
		req.Header.Set("Accept", "application/vnd.github+json")
		req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

func (c *Client) reportAnswer(code int) {
	if c.server.OnAnswer != nil {
		c.server.OnAnswer(code, c.rate)
	}
}

// withoutURL removes the wrapping of net/http, which repeats the method and URL.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// maxMessage bounds the characters of a server's message.
const maxMessage = 300

func answerError(resp *http.Response, body []byte) *Error {
	e := &Error{Code: resp.StatusCode, Message: resp.Status, Wait: waitOf(resp, time.Now())}
	var said struct {
		Message string `json:"message"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &said) == nil && said.Message != "" {
		e.Message = said.Message
		for _, more := range said.Errors {
			if more.Message != "" {
				e.Message += ": " + more.Message
			}
		}
	}
	if r := []rune(strings.Join(strings.Fields(e.Message), " ")); len(r) > maxMessage {
		e.Message = string(r[:maxMessage-1]) + "…"
	}
	return e
}

// maxWait bounds what a server may ask for: the limits of GitHub are for an hour.
const maxWait = time.Hour

// waitOf returns the time after which a server that limits its callers will answer: Retry-After, or, where nothing is
// left of the limit, the time of its reset.
func waitOf(resp *http.Response, now time.Time) time.Duration {
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
	default:
		return 0
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		return min(time.Duration(s)*time.Second, maxWait)
	}
	if resp.Header.Get("X-RateLimit-Remaining") != "0" {
		return 0
	}
	if s, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		return min(max(time.Unix(s, 0).Sub(now), time.Second), maxWait)
	}
	return 0
}
