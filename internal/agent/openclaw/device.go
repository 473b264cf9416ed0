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
)

// device is who we are to a gateway: an Ed25519 key, which it pairs with
// (docs/contracts/openclaw.md, 1).
type device struct{ key ed25519.PrivateKey }

// opener opens the device of a file when it is first asked for one. A failure
// is not kept: somebody may mend the file.
func opener(file string) func() (device, error) {
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
		return device{}, fmt.Errorf("device key: others may use %s: chmod 600 it, or remove it for a new one", file)
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
	return device{}, fmt.Errorf("device key: %s holds no Ed25519 key: remove it for a new one", file)
}

// makeDevice writes a new key. It appears whole or not at all, and of two
// processes that make one both go on with the same: a link does not replace.
func makeDevice(file string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = pem.Encode(tmp, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), file); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (d device) public() []byte { return d.key.Public().(ed25519.PublicKey) }

// id is the fingerprint of the public key.
func (d device) id() string {
	sum := sha256.Sum256(d.public())
	return hex.EncodeToString(sum[:])
}

// proof is the member device of connect.
type proof struct {
	ID        string `json:"id"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
	SignedAt  int64  `json:"signedAt"`
	Nonce     string `json:"nonce"`
}

// prove answers a challenge. What is signed binds who connects, as what and
// with which token to the nonce; the last field, a device family, is empty.
func (d device) prove(c challenge, token string) proof {
	text := strings.Join([]string{
		"v3", d.id(), clientID, clientMode, role, strings.Join(scopes, ","),
		strconv.FormatInt(c.TS, 10), token, c.Nonce, runtime.GOOS, "",
	}, "|")
	encode := base64.RawURLEncoding.EncodeToString
	return proof{
		ID: d.id(), PublicKey: encode(d.public()), Signature: encode(ed25519.Sign(d.key, []byte(text))),
		SignedAt: c.TS, Nonce: c.Nonce,
	}
}
