package review

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Key is the secret of one start of the review page: 32 random bytes in hex. Login links, sessions and the tokens of
// forms are made with it. It is never sent.
type Key string

// NewKey returns a fresh random key.
func NewKey() Key {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return Key(hex.EncodeToString(b[:]))
}

// String hides the key from logs and messages.
func (Key) String() string { return "[key]" }

// The labels tell apart what an authentication code is for.
const (
	loginLabel   = "login"
	sessionLabel = "session"
	formLabel    = "form"
	proofLabel   = "proof"
)

// mac authenticates the parts for the label.
func (k Key) mac(label string, parts ...string) string {
	mac := hmac.New(sha256.New, []byte(k))
	for _, part := range append([]string{label}, parts...) {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

func (k Key) verifies(code, label string, parts ...string) bool {
	return k != "" && hmac.Equal([]byte(code), []byte(k.mac(label, parts...)))
}

// LoginLife is the time in which a login link must be used.
const LoginLife = 10 * time.Minute

// sessionLife is the time after which a browser has to log in again.
const sessionLife = 14 * 24 * time.Hour

// MaxName bounds the name of a person, in bytes: run.Decision takes 128.
const MaxName = 100

// loginCode returns the code of a login link: a nonce, the end of its life, the name of the person, and a code that
// authenticates them.
func (k Key) loginCode(name string, end time.Time) string {
	nonce, seconds := rand.Text(), strconv.FormatInt(end.Unix(), 10)
	return strings.Join([]string{nonce, seconds, encodeName(name), k.mac(loginLabel, nonce, seconds, name)}, ".")
}

// The errors of login codes. Each is shown to a person.
var (
	errCode    = errors.New("this link is invalid: `starter page` prints a new one")
	errUsed    = errors.New("this link was already used: `starter page` prints a new one")
	errLost    = errors.New("the connection closed before its user was known: open the link again")
	errExpired = errors.New("this link has expired: `starter page` prints a new one")
)

// readLogin returns the nonce and the name of a login code that this key has made and that is still valid.
func (k Key) readLogin(code string, now time.Time) (nonce, name string, err error) {
	nonce, name, end, ok := k.readValue(loginLabel, code)
	switch {
	case !ok:
		return "", "", errCode
	case now.After(end):
		return "", "", errExpired
	}
	return nonce, name, nil
}

// sessionOf returns the value of a session's cookie. It holds for one person and one user of this machine.
func (k Key) sessionOf(name string, user int, end time.Time) string {
	id, seconds := rand.Text(), strconv.FormatInt(end.Unix(), 10)
	return strings.Join([]string{id, seconds, encodeName(name), k.mac(sessionLabel, id, seconds, name, strconv.Itoa(user))}, ".")
}

// readSession returns the id and the person of a session.
func (k Key) readSession(value string, user int, now time.Time) (id, name string, ok bool) {
	id, name, end, ok := k.readValue(sessionLabel, value, strconv.Itoa(user))
	return id, name, ok && now.Before(end)
}

// readValue takes apart a value of four parts and verifies it. more are parts that are authenticated and not in the
// value.
func (k Key) readValue(label, value string, more ...string) (id, name string, end time.Time, ok bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 4 {
		return "", "", end, false
	}
	decoded, err := base64.RawURLEncoding.DecodeString(parts[2])
	seconds, err2 := strconv.ParseInt(parts[1], 10, 64)
	name = string(decoded)
	if errors.Join(err, err2) != nil || !k.verifies(parts[3], label, append([]string{parts[0], parts[1], name}, more...)...) {
		return "", "", end, false
	}
	return parts[0], name, time.Unix(seconds, 0), true
}

func encodeName(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }
