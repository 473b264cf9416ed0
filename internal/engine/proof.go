package engine

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// The names of the gRPC metadata by which a client asks for a proof and the engine gives it. A
// locked engine names its start beside the proof. The engine's program has the same names.
const (
	NonceHeader = "ratchet-nonce"
	ProofHeader = "ratchet-proof"
	StartHeader = "ratchet-start"

	tokenVariable   = "RATCHET_ENGINE_TOKEN"
	releaseVariable = "RATCHET_ENGINE_RELEASE" // the release that starter and engine have to share; empty: any
	bearerLabel     = "bearer"
	loginLabel      = "login"
)

// LoginLife is the time in which a login link must be used.
const LoginLife = 10 * time.Minute

// Token is the secret of an engine and its clients: 32 random bytes in hex. The engine proves itself
// with it and admits who holds it. It is never sent: the header is derived from it.
type Token string

// NewToken returns a fresh random token.
func NewToken() Token {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return Token(hex.EncodeToString(b[:]))
}

// String hides the token from logs and messages.
func (t Token) String() string {
	if t == "" {
		return "no token"
	}
	return "[token]"
}

// mac authenticates the parts. The last part tells apart what a mac is for: the name of a method
// begins with a slash and a label does not.
func (t Token) mac(parts ...string) string {
	mac := hmac.New(sha256.New, []byte(t))
	for _, part := range parts {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Proof returns the answer of the engine that listens at address to a call of the method with the
// nonce. The address is part of the proof: an engine's proof is worthless to a program elsewhere
// that passes calls on to the engine.
func (t Token) Proof(nonce, address, method string) string { return t.mac(nonce, address, method) }

// Proves reports whether proof was made by a holder of the token. An empty token proves nothing.
func (t Token) Proves(proof, nonce, address, method string) bool {
	return t != "" && hmac.Equal([]byte(proof), []byte(t.Proof(nonce, address, method)))
}

// Bearer returns the value of the authorization header that the engine at address admits during one
// of its starts. It is empty for an engine that is open, which has no start. A program that takes
// the port of a dead engine and hears the value gains nothing: the next start has another.
func (t Token) Bearer(start, address string) string {
	if start == "" {
		return ""
	}
	return "Bearer " + t.mac(start, address, bearerLabel)
}

// Login returns a link that opens the Web UI at a page, an absolute path, once and before now +
// LoginLife. ui is the URL of the Web UI. An open engine has the page itself as its link.
func (t Token) Login(ui, start, page string, now time.Time) string {
	if start == "" {
		return ui + page
	}
	nonce, end := rand.Text(), strconv.FormatInt(now.Add(LoginLife).Unix(), 10)
	return ui + "/login#" + nonce + "." + end + "." + t.mac(nonce, end, start, loginLabel) + page
}
