package engine

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// The names of the gRPC metadata with which a client asks for a proof and the engine gives it. The engine's program has the
// same.
const (
	NonceHeader = "ratchet-nonce"
	ProofHeader = "ratchet-proof"

	tokenVariable = "RATCHET_ENGINE_TOKEN"
)

// Token is what an engine and its clients know and nobody else: 32 random bytes in hex. The engine proves itself with it;
// it gives its holder no right that another caller of the engine has not.
type Token string

// NewToken returns a token that nobody knows yet.
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

// Proof is what the engine that listens at address answers to a call of the method that brings the nonce. The address is
// part of it so that an engine's proof is worth nothing to a program elsewhere that passes calls on to it.
func (t Token) Proof(nonce, address, method string) string {
	mac := hmac.New(sha256.New, []byte(t))
	for _, part := range []string{nonce, address, method} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Proves reports whether proof is that of a holder of the token. No token proves nothing.
func (t Token) Proves(proof, nonce, address, method string) bool {
	return t != "" && hmac.Equal([]byte(proof), []byte(t.Proof(nonce, address, method)))
}
