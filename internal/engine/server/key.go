package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/rpc/encryption"
	"go.temporal.io/server/temporal"
)

// key is the certificate by which the engine, its clients and its own services know each other, with its private key.
// Both sides of a connection show it, and admit no other.
type key struct {
	pem  []byte
	pair tls.Certificate
	pool *x509.CertPool // holds the certificate alone
}

// loadKey reads a file of PEM, which package engine makes. It has to be checked already: it is this user's alone.
func loadKey(path string) (key, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return key{}, err
	}
	k := key{pem: b, pool: x509.NewCertPool()}
	if k.pair, err = tls.X509KeyPair(b, b); err == nil && !k.pool.AppendCertsFromPEM(b) {
		err = errors.New("no certificate")
	}
	if err != nil {
		return key{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

func (k key) server() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.pair}, ClientCAs: k.pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

func (k key) client() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.pair}, RootCAs: k.pool, ServerName: loopback}
}

// locks returns the server's options that lock its ports. The ports of the services behind the frontend are locked even
// where the engine is open: a call there would pass the checks of the frontend by.
func (k key) locks(open bool) []temporal.ServerOption {
	byTLS := &encryption.FixedTLSConfigProvider{InternodeServerConfig: k.server(), InternodeClientConfig: k.client()}
	if !open {
		byTLS.FrontendServerConfig, byTLS.FrontendClientConfig = k.server(), k.client()
	}
	return []temporal.ServerOption{
		temporal.WithTLSConfigFactory(byTLS),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
	}
}
