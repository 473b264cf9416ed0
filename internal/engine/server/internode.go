package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"

	"go.temporal.io/server/common/rpc/encryption"
)

const (
	internodeName = "ratchet-engine"
	internodeLife = 50 * 365 * 24 * time.Hour
)

// internodeTLS returns the TLS of the connections between the server's own services. They listen
// on loopback, where every program of the machine could call them otherwise. Both sides of such a
// connection show the same certificate. Its key is made here and never leaves this process.
func internodeTLS() (encryption.TLSConfigProvider, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: internodeName},
		DNSNames:              []string{internodeName},
		NotBefore:             now.Add(-internodeLife), // a clock may be set back
		NotAfter:              now.Add(internodeLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	own, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(own)
	pair := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: own}}
	return &encryption.FixedTLSConfigProvider{
		InternodeServerConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: pair, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
		InternodeClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: pair, RootCAs: pool, ServerName: internodeName},
	}, nil
}
