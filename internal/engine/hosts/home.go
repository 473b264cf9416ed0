package hosts

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// HomeFile is the file in the runs directory of a host that has joined, which says where its home machine is.
const HomeFile = "home.json"

// Home is the content of the file.
type Home struct {
	Address     string `json:"address"`     // host:port of the door
	Name        string `json:"name"`        // by which the host is known there
	Certificate string `json:"certificate"` // of the engine, PEM
	Namespace   string `json:"namespace,omitempty"`
}

// ReadHome returns the home machine of a runs directory, and the TLS configuration that reaches it. The error is
// fs.ErrNotExist if the host has not joined.
func ReadHome(runsDir string) (Home, *tls.Config, error) {
	var h Home
	if err := engine.ReadOwn(runsDir, HomeFile, &h); err != nil {
		return h, nil, err
	}
	key, err := engine.ReadHostKey(runsDir)
	if err != nil {
		return h, nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(h.Certificate)) {
		return h, nil, fmt.Errorf("%s in %s has no certificate: join again with a code of `starter host join`", HomeFile, runsDir)
	}
	return h, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{key.Pair()}, RootCAs: pool, ServerName: engineName}, nil
}

// engineName is a name in every engine's certificate. No other certificate is in the pool.
const engineName = "localhost"

// Code is what a person pastes on a machine that joins.
type Code struct {
	Address string // host:port of the door
	Secret  [secretLen]byte
	Engine  [sha256.Size]byte // digest of the engine's certificate
}

// NewCode returns the code of a secret.
func NewCode(address string, secret [secretLen]byte, key engine.Key) Code {
	return Code{address, secret, sha256.Sum256(key.Pair().Certificate[0])}
}

// String returns the code as ParseCode reads it.
func (c Code) String() string {
	return "https://" + c.Address + "#" + base64.RawURLEncoding.EncodeToString(append(c.Secret[:], c.Engine[:]...))
}

// ParseCode reads a code. The error does not have it.
func ParseCode(text string) (c Code, err error) {
	u, err := url.Parse(text)
	if err == nil {
		_, _, err = net.SplitHostPort(u.Host)
	}
	var b []byte
	if err == nil {
		b, err = base64.RawURLEncoding.DecodeString(u.Fragment)
	}
	if err != nil || u.Scheme != "https" || len(b) != secretLen+sha256.Size {
		return c, errors.New("this is not a whole line of `starter host join`: want https://HOST:PORT#CODE")
	}
	c.Address = u.Host
	copy(c.Secret[:], b)
	copy(c.Engine[:], b[secretLen:])
	return c, nil
}

// Join makes this host's key, has its certificate put into the home machine's book, and keeps in the runs directory where
// that is. A second call with the same code has the same result.
func Join(ctx context.Context, runsDir string, c Code, name string, s Survey) (Welcome, error) {
	if err := CheckName(name); err != nil {
		return Welcome{}, err
	}
	key, err := engine.MakeHostKey(runsDir)
	if err != nil {
		return Welcome{}, err
	}
	var certificate []byte
	// The engine's certificate is not known yet, but its digest is: nothing is said to a server with another one.
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{key.Pair()}, InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		certificate = s.PeerCertificates[0].Raw
		if sum := sha256.Sum256(certificate); subtle.ConstantTimeCompare(sum[:], c.Engine[:]) != 1 {
			return errOtherEngine
		}
		return nil
	}}
	conn, w, err := greetAt(ctx, c.Address, config, greeting{Secret: c.Secret[:], Name: name, Survey: s})
	if err != nil {
		return w, err
	}
	defer conn.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	return w, engine.WriteOwn(runsDir, HomeFile, Home{Address: c.Address, Name: w.Name, Certificate: string(text), Namespace: w.Namespace})
}

var errOtherEngine = errors.New("what answers there is not the engine of this code: its certificate is another one, and it was told nothing; print a code again with `starter host join`")

// RefusedError is the reason why the home machine does not take a host. Another try has the same answer.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the home machine refuses: " + e.Reason }

// Greet reports to the home machine what this host has, by a connection that stays open until one of them closes it.
func Greet(ctx context.Context, runsDir string, s Survey) (Welcome, *Presence, error) {
	h, config, err := ReadHome(runsDir)
	if err != nil {
		return Welcome{}, nil, err
	}
	conn, w, err := greetAt(ctx, h.Address, config, greeting{Name: h.Name, Survey: s})
	if err != nil {
		return w, nil, err
	}
	return w, &Presence{conn}, nil
}

// Presence is the open connection of a greeting.
type Presence struct{ conn net.Conn }

// Await waits for the end of the connection. The error is a *RefusedError if the home machine gives a reason.
func (p *Presence) Await(ctx context.Context) error {
	defer p.conn.Close()
	defer context.AfterFunc(ctx, func() { p.conn.Close() })()
	var last Welcome
	if err := receive(p.conn, &last); err != nil {
		return err
	}
	return &RefusedError{last.Error}
}

// Await waits until the door of this machine answers at an address with the engine's certificate.
func Await(ctx context.Context, listen string, key engine.Key) error {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		listen = net.JoinHostPort(engineName, port)
	}
	config := key.TLS()
	config.ServerName, config.NextProtos = engineName, []string{protocol}
	for {
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", listen)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("`starter up`, or `worker -admit-hosts`, does not answer at %s: %w", listen, err)
		case <-time.After(lookEvery):
		}
	}
}

// greetTimeout bounds a greeting.
const greetTimeout = 15 * time.Second

func greetAt(ctx context.Context, address string, config *tls.Config, g greeting) (conn net.Conn, w Welcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	config.NextProtos = []string{protocol}
	conn, err = (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		if errors.Is(err, errOtherEngine) {
			return nil, w, errOtherEngine
		}
		return nil, w, fmt.Errorf("reach the home machine at %s: %w", address, err)
	}
	_ = conn.SetDeadline(time.Now().Add(greetTimeout))
	g.Time = time.Now()
	if err = send(conn, g); err == nil {
		err = receive(conn, &w)
	}
	if err == nil && w.Error != "" {
		err = &RefusedError{w.Error}
	}
	if err != nil {
		conn.Close()
		if _, refused := errors.AsType[*RefusedError](err); refused {
			return nil, w, err
		}
		return nil, w, fmt.Errorf("greet the home machine at %s: %w", address, err)
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, w, nil
}
