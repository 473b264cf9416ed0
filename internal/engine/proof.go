package engine

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// The names of the gRPC metadata by which a client asks for a proof and the engine gives it. The
// engine's program has the same names.
const (
	NonceHeader = "ratchet-nonce"
	ProofHeader = "ratchet-proof"

	tokenVariable = "RATCHET_ENGINE_TOKEN"
)

// Token is the secret of an engine and its clients: 32 random bytes in hex. The engine proves
// itself with it. It gives its holder no right that another caller of the engine lacks.
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

// Proof returns the answer of the engine that listens at address to a call of the method with the
// nonce. The address is part of the proof: an engine's proof is worthless to a program elsewhere
// that passes calls on to the engine.
func (t Token) Proof(nonce, address, method string) string {
	mac := hmac.New(sha256.New, []byte(t))
	for _, part := range []string{nonce, address, method} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Proves reports whether proof was made by a holder of the token. An empty token proves nothing.
func (t Token) Proves(proof, nonce, address, method string) bool {
	return t != "" && hmac.Equal([]byte(proof), []byte(t.Proof(nonce, address, method)))
}
