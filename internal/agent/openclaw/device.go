package openclaw

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/file"
)

// device is our identity for a gateway: an Ed25519 key, with which the gateway
// pairs (CLIENT.md, 1).
type device struct{ key ed25519.PrivateKey }

// deviceOpener returns a function that opens the device of a file at its first
// call. It does not keep a failure, because the file may be repaired.
func deviceOpener(file string) func() (device, error) {
	var mu sync.Mutex
	var d device
	return func() (_ device, err error) {
		mu.Lock()
		defer mu.Unlock()
		if d.key == nil {
			d, err = openDevice(file)
		}
		return d, err
	}
}

func openDevice(file string) (device, error) {
	if file == "" {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return device{key}, err
	}
	d, err := readDevice(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if err := makeDevice(file); err != nil {
		return device{}, fmt.Errorf("device key: %w", err)
	}
	return readDevice(file)
}

func readDevice(file string) (device, error) {
	info, err := os.Stat(file)
	if err != nil {
		return device{}, fmt.Errorf("device key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return device{}, fmt.Errorf("device key: other users can use %s: chmod 600 it, or remove it to get a new one", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return device{}, fmt.Errorf("device key: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := key.(ed25519.PrivateKey); ok {
				return device{key}, nil
			}
		}
	}
	return device{}, fmt.Errorf("device key: %s holds no Ed25519 key: remove it to get a new one", file)
}

// makeDevice writes a new key. The file appears whole or not at all. Two processes
// that make one use the same key, because a link does not replace a file.
func makeDevice(path string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := file.Create(path, text); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (d device) publicKey() []byte { return d.key.Public().(ed25519.PublicKey) }

// keyFingerprint returns the fingerprint of the public key, which is the device's id.
func (d device) keyFingerprint() string {
	sum := sha256.Sum256(d.publicKey())
	return hex.EncodeToString(sum[:])
}

// proof is the member "device" of connect.
type proof struct {
	ID        string `json:"id"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
	SignedAt  int64  `json:"signedAt"`
	Nonce     string `json:"nonce"`
}

// signChallenge answers a challenge. The signature binds our identity, our role and
// the token to the nonce; the last field, a device family, is empty.
func (d device) signChallenge(c challenge, token string) proof {
	text := strings.Join([]string{
		"v3", d.keyFingerprint(), clientID, clientMode, role, strings.Join(scopes, ","),
		strconv.FormatInt(c.TS, 10), token, c.Nonce, runtime.GOOS, "",
	}, "|")
	encode := base64.RawURLEncoding.EncodeToString
	return proof{
		ID: d.keyFingerprint(), PublicKey: encode(d.publicKey()), Signature: encode(ed25519.Sign(d.key, []byte(text))),
		SignedAt: c.TS, Nonce: c.Nonce,
	}
}
