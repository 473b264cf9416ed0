package forge

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// App is a GitHub App. It makes a token for each repository when a call needs one, and keeps it in memory until shortly before
// its end, which is an hour later.
type App struct {
	ID  string // of the app, or its client id
	key *rsa.PrivateKey

	mu     sync.Mutex
	grants map[string]grant // by repository
}

// grant is what an app may do in a repository.
type grant struct {
	Token       string            `json:"token"`
	ExpiresAt   time.Time         `json:"expires_at"`
	Permissions map[string]string `json:"permissions"`
	account     string
}

// OpenApp returns the app of a private key, as GitHub hands it out in a PEM file.
func OpenApp(id string, key []byte) (*App, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("the private key of the app is not a PEM file")
	}
	a := &App{ID: id, grants: map[string]grant{}}
	if k, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		a.key = k
		return a, nil
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if a.key, _ = k.(*rsa.PrivateKey); err != nil || a.key == nil {
		return nil, errors.New("the private key of the app is not an RSA key")
	}
	return a, nil
}

// Tokens returns the tokens that the app has made and that may still be valid.
func (a *App) Tokens() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.grants {
		list = append(list, g.Token)
	}
	return list
}

// spare is the time before the end of a token at which another takes its place: a push takes as long at most.
const spare = 5 * time.Minute

// grant returns what the app may do in the repository of a client.
func (a *App) grant(ctx context.Context, c *Client) (grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g := a.grants[c.repo.String()]; time.Until(g.ExpiresAt) > spare {
		return g, nil
	}
	jwt, err := a.sign(time.Now())
	if err != nil {
		return grant{}, err
	}
	by := *c
	by.server.App, by.server.Token = nil, jwt
	var installed struct {
		ID   int64  `json:"id"`
		Slug string `json:"app_slug"`
	}
	err = by.call(ctx, http.MethodGet, "/installation", nil, &installed)
	if isCode(err, http.StatusNotFound) {
		err = &Error{Code: http.StatusUnprocessableEntity, Message: fmt.Sprintf("the GitHub App %s is not installed in %s: install it there", a.ID, c.repo)}
	}
	if err != nil {
		return grant{}, err
	}
	g := grant{account: installed.Slug + "[bot]"}
	err = by.call(ctx, http.MethodPost, fmt.Sprintf("%s/app/installations/%d/access_tokens", c.base(), installed.ID), map[string]any{"repositories": []string{c.repo.Name}}, &g)
	if err == nil {
		a.grants[c.repo.String()] = g
	}
	return g, err
}

// forget drops a token that the server refuses. It reports whether the app had it.
func (a *App) forget(r Repo, token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	had := a.grants[r.String()].Token == token
	if had {
		delete(a.grants, r.String())
	}
	return had
}

// sign returns the word by which the app makes tokens (a JSON web token). Its times allow for clocks that differ.
func (a *App) sign(now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"iss": a.ID, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(8 * time.Minute).Unix()})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, a.key, crypto.SHA256, sum[:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

// token returns the token of the server's account, or one that its app makes.
func (c *Client) token(ctx context.Context) (string, error) {
	if c.server.App == nil {
		return c.server.Token, nil
	}
	g, err := c.server.App.grant(ctx, c)
	c.granted = g
	return g.Token, err
}

// Me returns the account of the token.
func (c *Client) Me(ctx context.Context) (string, error) {
	if c.server.App != nil { // whose tokens may not ask
		_, err := c.token(ctx)
		return c.granted.account, err
	}
	var u user
	err := c.call(ctx, http.MethodGet, c.base()+"/user", nil, &u)
	return u.Login, err
}
