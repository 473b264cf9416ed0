package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/file"
)

// KeyFile is the name of the file in the runs directory with the certificate of the engine and its clients, and its
// private key, in PEM.
const KeyFile = "engine.pem"

// HostKeyFile is the file of the same form with the key of a host that has joined another's engine.
const HostKeyFile = "host.pem"

// keyLife reaches into the past as well: a clock may be set back.
const keyLife = 50 * 365 * 24 * time.Hour

// Key is the certificate, with its private key, by which an engine and its clients know each other. Both show it, and
// admit no other: it is its own authority, and no certificate that it has signed is admitted.
type Key struct {
	Path string // absolute path of its file

	pair tls.Certificate
	pool *x509.CertPool
}

// MakeKey returns the key of a runs directory, and makes it if there is none. The key outlives the engine, so that clients
// can use the next one.
func MakeKey(runsDir string) (Key, error) { return makeKey(runsDir, KeyFile) }

// MakeHostKey is MakeKey for the key by which a host that has joined another's engine is known there.
func MakeHostKey(runsDir string) (Key, error) { return makeKey(runsDir, HostKeyFile) }

func makeKey(runsDir, name string) (Key, error) {
	k, err := readKey(runsDir, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	b, err := newKey()
	if err != nil {
		return Key{}, err
	}
	if err := file.Create(filepath.Join(runsDir, name), b); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, err
	}
	return readKey(runsDir, name)
}

// ReadKey returns the key of a runs directory. The error is fs.ErrNotExist where there is none, and ErrNotOurs where
// another user may know it or may have written it.
func ReadKey(runsDir string) (Key, error) { return readKey(runsDir, KeyFile) }

// ReadHostKey is ReadKey for the key of MakeHostKey.
func ReadHostKey(runsDir string) (Key, error) { return readKey(runsDir, HostKeyFile) }

// makers say what makes a key again.
var makers = map[string]string{KeyFile: "the next `starter up` makes a new one", HostKeyFile: "`worker -join` makes a new one"}

func readKey(runsDir, name string) (Key, error) {
	path, err := filepath.Abs(filepath.Join(runsDir, name))
	if err != nil {
		return Key{}, err
	}
	if err := file.CheckDir(runsDir); err != nil {
		return Key{}, err
	}
	f, err := file.Trust{Closed: 0o077}.OpenOwn(path)
	if errors.Is(err, ErrNotOurs) {
		return Key{}, fmt.Errorf("%w; if another user may know it, remove it: %s", err, makers[name])
	}
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return Key{}, err
	}
	k := Key{Path: path, pool: x509.NewCertPool()}
	if k.pair, err = tls.X509KeyPair(b, b); err == nil && !k.pool.AppendCertsFromPEM(b) {
		err = errors.New("no certificate")
	}
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w: remove it; %s", path, err, makers[name])
	}
	return k, nil
}

// TLS returns what a client of the engine connects with.
func (k Key) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.pair}, RootCAs: k.pool}
}

// Pair returns the certificate with its private key.
func (k Key) Pair() tls.Certificate { return k.pair }

func newKey() ([]byte, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: programName},
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             now.Add(-keyLife),
		NotAfter:              now.Add(keyLife),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, // and it is no authority over others
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}
