// Package hosts lets workers on other machines reach the engine of this one, the home machine.
//
// The home machine's book says which hosts have joined, by the digests of their certificates. Its Door is a TLS listener
// that shows the engine's certificate. It passes the connections of hosts in the book through to the engine. From everyone
// else it takes one message: a one-time code, which puts the certificate that the caller has shown into the book. The
// caller knows the engine's certificate by the digest in the code.
package hosts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// BookFile is the file in the runs directory of the home machine that says which hosts may reach its engine.
const BookFile = "hosts.json"

const (
	// CodeLife is how long a code can be used.
	CodeLife = 10 * time.Minute
	// remembered is how long the book can distinguish a used code from one that never was, and how long a host that was
	// removed can learn it.
	remembered = 24 * time.Hour

	secretLen = 20
	maxHosts  = 100 // the book with what they say has to be readable
)

// Book is the content of the file.
type Book struct {
	Listen string `json:"listen,omitempty"` // host:port of the door
	Codes  []code `json:"codes,omitempty"`
	Hosts  []Host `json:"hosts,omitempty"`
	// Removed is when a host was removed last.
	Removed time.Time `json:"removed,omitzero"`
}

// Host is a host that has joined.
type Host struct {
	Name        string    `json:"name"`
	Certificate string    `json:"certificate"` // SHA-256 in hexadecimal
	Joined      time.Time `json:"joined"`
	Seen        time.Time `json:"seen"` // the last time that a worker of it began or ended a connection
	// Skew is how far its clock was ahead of this machine's.
	Skew   time.Duration `json:"skew,omitempty"`
	Survey Survey        `json:"survey"`
}

// MaxSkew is the difference of two clocks from which on it is reported.
const MaxSkew = time.Minute

// DescribeSkew says how far a clock is ahead of another; empty: by no more than MaxSkew.
func DescribeSkew(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d > MaxSkew:
		return fmt.Sprintf("%v ahead", d)
	case d < -MaxSkew:
		return fmt.Sprintf("%v behind", -d)
	}
	return ""
}

// code is a one-time code. The secret itself is not kept.
type code struct {
	Digest string    `json:"digest"` // SHA-256 of the secret, in hexadecimal
	Until  time.Time `json:"until"`
	By     string    `json:"by,omitempty"` // the certificate that was joined by it; empty: it was not used
}

// Read returns the book of a runs directory. No file is an empty book.
func Read(runsDir string) (Book, error) {
	var b Book
	err := engine.ReadOwn(runsDir, BookFile, &b)
	if errors.Is(err, fs.ErrNotExist) {
		return Book{}, nil
	}
	return b, err
}

// update changes the book under its lock.
func update(ctx context.Context, runsDir string, change func(*Book) error) error {
	unlock, err := file.Lock(ctx, filepath.Join(runsDir, BookFile+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	b, err := Read(runsDir)
	if err != nil {
		return err
	}
	if err := change(&b); err != nil {
		return err
	}
	return engine.WriteOwn(runsDir, BookFile, b)
}

// Invite makes a one-time code, and has the door listen at an address.
func Invite(ctx context.Context, runsDir, listen string, now time.Time) (secret [secretLen]byte, err error) {
	if _, err := rand.Read(secret[:]); err != nil {
		return secret, err
	}
	err = update(ctx, runsDir, func(b *Book) error {
		b.Listen = listen
		b.Codes = slices.DeleteFunc(b.Codes, func(c code) bool { return now.Sub(c.Until) > remembered })
		b.Codes = append(b.Codes, code{Digest: digest(secret[:]), Until: now.Add(CodeLife)})
		return nil
	})
	return secret, err
}

// Remove takes a host out of the book. The door cuts its connections.
func Remove(ctx context.Context, runsDir, name string) error {
	return update(ctx, runsDir, func(b *Book) error {
		i := slices.IndexFunc(b.Hosts, func(h Host) bool { return h.Name == name })
		if i < 0 {
			return fmt.Errorf("no host %q has joined: see `starter hosts`", name)
		}
		b.Hosts, b.Removed = slices.Delete(b.Hosts, i, i+1), time.Now()
		return nil
	})
}

// Open reports whether the door is to listen: for hosts, for one that was away when it was removed, or for a code that can
// be used.
func (b Book) Open(now time.Time) bool {
	waits := func(c code) bool { return c.By == "" && now.Before(c.Until) }
	return b.Listen != "" && (len(b.Hosts) > 0 || now.Sub(b.Removed) < remembered || slices.ContainsFunc(b.Codes, waits))
}

// byCertificate returns the host with a certificate; nil: none has it.
func (b *Book) byCertificate(certificate string) *Host {
	i := slices.IndexFunc(b.Hosts, func(h Host) bool { return h.Certificate == certificate })
	if i < 0 {
		return nil
	}
	return &b.Hosts[i]
}

// knows reports whether a secret is that of a code.
func (b *Book) knows(secret []byte) bool { return b.indexOf(secret) >= 0 }

func (b *Book) indexOf(secret []byte) int {
	wanted := digest(secret)
	return slices.IndexFunc(b.Codes, func(c code) bool { return subtle.ConstantTimeCompare([]byte(c.Digest), []byte(wanted)) == 1 })
}

// redeem puts a certificate into the book by a secret. The answer to a second call with both is that of the first, which
// may have been lost.
func (b *Book) redeem(secret []byte, certificate, name string, now time.Time) (*Host, error) {
	i := b.indexOf(secret)
	if i < 0 {
		return nil, errUnknownCode
	}
	c := &b.Codes[i]
	known := b.byCertificate(certificate)
	switch {
	case c.By == certificate && known != nil:
		return known, nil
	case c.By != "":
		return nil, errors.New("the code was used already: `starter host join` prints another; if you did not use it, look who has joined with `starter hosts`")
	case now.After(c.Until):
		return nil, fmt.Errorf("the code ended %v ago: `starter host join` prints another", now.Sub(c.Until).Round(time.Second))
	}
	if slices.ContainsFunc(b.Hosts, func(h Host) bool { return h.Name == name && h.Certificate != certificate }) {
		return nil, fmt.Errorf("another host %s has joined: give this one another name with -host NAME, or remove that one with `starter host remove %s`", name, name)
	}
	if len(b.Hosts) >= maxHosts && known == nil {
		return nil, fmt.Errorf("%d hosts have joined: remove one with `starter host remove`", maxHosts)
	}
	c.By = certificate
	if known != nil {
		return known, nil
	}
	b.Hosts = append(b.Hosts, Host{Name: name, Certificate: certificate, Joined: now})
	return &b.Hosts[len(b.Hosts)-1], nil
}

var errUnknownCode = errors.New("the code is not known here: check that all of it was pasted; `starter host join` prints another")

// digest returns the SHA-256 of b in hexadecimal.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
