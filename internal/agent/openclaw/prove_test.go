package openclaw_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// prove checks what a client says it is, by the words of the gateway's own
// manual and not by ours.
func prove(params json.RawMessage, nonce, token string) (device, problem string) {
	var p struct {
		MinProtocol, MaxProtocol int
		Client                   struct{ ID, Version, Platform, Mode string }
		Role                     string
		Scopes, Caps             []string
		Auth                     struct{ Token string }
		Device                   struct {
			ID, PublicKey, Signature, Nonce string
			SignedAt                        int64
		}
	}
	if json.Unmarshal(params, &p) != nil || p.MinProtocol > 4 || p.MaxProtocol < 4 || p.Client.Version == "" || p.Client.Platform != runtime.GOOS {
		return "", "PROTOCOL_MISMATCH"
	}
	key, err := base64.RawURLEncoding.DecodeString(p.Device.PublicKey)
	signature, err2 := base64.RawURLEncoding.DecodeString(p.Device.Signature)
	if err != nil || err2 != nil || len(key) != ed25519.PublicKeySize {
		return "", "DEVICE_AUTH_PUBLIC_KEY_INVALID"
	}
	sum := sha256.Sum256(key)
	text := fmt.Sprintf("v3|%s|%s|%s|%s|%s|%d|%s|%s|%s|", p.Device.ID, p.Client.ID, p.Client.Mode, p.Role,
		strings.Join(p.Scopes, ","), p.Device.SignedAt, p.Auth.Token, p.Device.Nonce, p.Client.Platform)
	switch {
	case p.Device.ID != hex.EncodeToString(sum[:]):
		return "", "DEVICE_AUTH_DEVICE_ID_MISMATCH"
	case p.Device.Nonce != nonce:
		return "", "DEVICE_AUTH_NONCE_MISMATCH"
	case p.Device.SignedAt != 1795275501165:
		return "", "DEVICE_AUTH_SIGNATURE_EXPIRED"
	case !ed25519.Verify(key, []byte(text), signature):
		return "", "DEVICE_AUTH_SIGNATURE_INVALID"
	case p.Auth.Token != token:
		return "", "AUTH_TOKEN_MISMATCH"
	case !slices.Contains(p.Caps, "tool-events"):
		return "", "no tool events for this client"
	}
	return p.Device.ID, ""
}
