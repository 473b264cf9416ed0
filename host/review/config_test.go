package review_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
)

// An address that other machines reach is refused unless people are known there.
func TestWhereThePageMayBeServed(t *testing.T) {
	proxy, err := review.ParseProxy("X-Forwarded-User@10.0.0.7")
	if err != nil {
		t.Fatal(err)
	}
	local, err := review.ParseProxy("X-Forwarded-User@uid:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		c    review.Config
		good bool
	}{
		"the default":                     {review.Config{}, true},
		"off":                             {review.Config{Address: review.Off}, true},
		"loopback":                        {review.Config{Address: "127.0.0.1:0"}, true},
		"all interfaces":                  {review.Config{Address: "0.0.0.0:8234", URL: "http://host.example.com:8234"}, false},
		"an interface":                    {review.Config{Address: "10.0.0.5:8234"}, false},
		"all interfaces by TLS":           {review.Config{Address: "0.0.0.0:8234", URL: "https://host.example.com:8234", Cert: "c", Key: "k"}, true},
		"by TLS without a name":           {review.Config{Address: "0.0.0.0:8234", Cert: "c", Key: "k"}, false},
		"a certificate without a key":     {review.Config{Address: "127.0.0.1:0", Cert: "c"}, false},
		"for a proxy of another machine":  {review.Config{Address: "10.0.0.5:8234", URL: "https://ratchet.example.com", Proxy: proxy}, true},
		"elsewhere for a proxy beside us": {review.Config{Address: "10.0.0.5:8234", Proxy: local}, false},
		"no address":                      {review.Config{Address: "here"}, false},
		"a name":                          {review.Config{Address: "host.example.com:80"}, false},
		"a URL with a path":               {review.Config{URL: "https://ratchet.example.com/x"}, false},
		"a URL of another kind":           {review.Config{URL: "javascript://x"}, false},
	} {
		if err := tc.c.Check(); (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{"", "X-User", "X-User@", "@uid:0", "X-User@127.0.0.1", "X-User@::1", "X-User@0.0.0.0", "X-User@localhost", "X User@uid:0", "X-User@uid:no-such-user-here"} {
		if _, err := review.ParseProxy(bad); err == nil {
			t.Errorf("the proxy %q was taken", bad)
		}
	}
}

// certificate writes a certificate for a name, and its key.
func certificate(t *testing.T, name string) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	roots = x509.NewCertPool()
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		b := pem.EncodeToMemory(block)
		roots.AppendCertsFromPEM(b)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, roots
}

func TestThePageByTLS(t *testing.T) {
	cert, key, roots := certificate(t, "ratchet.example.com")
	e := newEngine(t, "be polite")
	e.propose("put a comma", patchText)
	s := serve(t, review.Config{URL: "https://ratchet.example.com", Cert: cert, Key: key}, e)
	address := s.server.Place().Address
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}}
	defer client.CloseIdleConnections()
	link := s.server.Place().Login("kim", "/", time.Now())
	if !strings.HasPrefix(link, "https://ratchet.example.com/login#") {
		t.Errorf("the link is %s", link)
	}
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://ratchet.example.com/login", strings.NewReader(code(link)))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Origin", "https://ratchet.example.com")
	resp, err := client.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cookie := resp.Header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-") || !strings.Contains(cookie, "; Secure") || resp.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("%d: the cookie is %q", resp.StatusCode, cookie)
	}
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://ratchet.example.com/runs/r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	get.Header.Set("Cookie", strings.Split(cookie, ";")[0])
	if resp, err = client.Do(get); err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(b), "put a comma") {
		t.Errorf("%d: %s", resp.StatusCode, b)
	}
	s.checkPlace(t)
}

// checkPlace holds that another process finds the page by its file, and believes no other program at the port.
func (s *served) checkPlace(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if _, err := review.ReadPlace(t.Context(), dir); !errors.Is(err, review.ErrNotServed) {
		t.Errorf("of an empty directory: %v", err)
	}
	place := s.server.Place()
	if err := place.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := review.ReadPlace(t.Context(), dir); err != nil || got != place {
		t.Errorf("%+v, %v", got, err)
	}
	if info, err := os.Stat(filepath.Join(dir, review.FileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the key: %v, %v", info.Mode(), err)
	}
}

func TestWhatHasTakenThePortIsNotBelieved(t *testing.T) {
	s := atGate(t, review.Config{})
	s.checkPlace(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes, it is me") }))
	defer other.Close()
	place := s.server.Place()
	place.Address = strings.TrimPrefix(other.URL, "http://")
	dir := t.TempDir()
	if err := place.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := review.ReadPlace(t.Context(), dir); !errors.Is(err, review.ErrNotServed) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("another program: %v", err)
	}
}
