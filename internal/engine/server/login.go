package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	loginPath    = "/login"
	sessionLabel = "session"
	cookiePrefix = "ratchet_session_"

	maxCode = 512
)

// uiDoor admits a request to the Web UI that has a session or the bearer token. A session begins by
// a login code, which a holder of the token makes.
//
// A browser sends a cookie to every port of a host. A session is therefore bound to the user whose
// process began it, as the kernel knows him: the cookie is worthless to another user who lures the
// browser to a port of his own.
type uiDoor struct {
	door
	port int
	next http.Handler

	mu   sync.Mutex
	used map[string]bool // the nonces of login codes that were used
}

func newUIDoor(d door, port int, next http.Handler) *uiDoor {
	return &uiDoor{door: d, port: port, next: next, used: map[string]bool{}}
}

func (u *uiDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case u.open:
		u.pass(w, r)
	case ofAnotherOrigin(r):
		http.Error(w, "Ratchet's Web UI takes no request from a page of another origin.", http.StatusForbidden)
	case r.URL.Path == loginPath && r.Method == http.MethodPost:
		u.login(w, r)
	case r.URL.Path == loginPath && r.Method == http.MethodGet:
		loginPage(w, http.StatusOK)
	case u.admits(r.Header.Get("Authorization")), u.hasSession(r):
		u.pass(w, r)
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		loginPage(w, http.StatusUnauthorized)
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="ratchet"`)
		http.Error(w, "Ratchet's Web UI is locked: `starter ui` prints a link that opens it.", http.StatusUnauthorized)
	}
}

// pass hands the request on. The Web UI's server gives its own authorization to the engine.
func (u *uiDoor) pass(w http.ResponseWriter, r *http.Request) {
	r.Header.Del("Authorization")
	u.next.ServeHTTP(w, r)
}

// ofAnotherOrigin reports whether a page that is not the Web UI's own has caused the request. A page
// at another port of the same host is of the same site and of another origin.
func ofAnotherOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return true
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return !slices.Contains([]string{"", "none", "same-origin"}, site)
}

// login gives a session for a login code. A second call with the code is refused, unless the caller
// has a session.
func (u *uiDoor) login(w http.ResponseWriter, r *http.Request) {
	code, err := io.ReadAll(io.LimitReader(r.Body, maxCode))
	if err == nil && isLost(peerOf(r)) {
		err = errLost
	}
	if err == nil && !u.hasSession(r) {
		err = u.redeem(string(code), time.Now())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: u.cookieName(), Value: u.session(rand.Text(), peerOf(r)), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	w.WriteHeader(http.StatusNoContent)
}

var (
	errCode    = errors.New("this link does not open this Web UI: `starter ui` prints another")
	errUsed    = errors.New("this link was used: `starter ui` prints another")
	errLost    = errors.New("the connection was closed before it was known whose it is: open the link again")
	errExpired = errors.New("this link is too old: `starter ui` prints another")
)

// redeem uses up a login code: a nonce, the end of its life in seconds, and a mac, with dots between
// them.
func (u *uiDoor) redeem(code string, now time.Time) error {
	parts := strings.Split(code, ".")
	if len(parts) != 3 || !hmac.Equal([]byte(parts[2]), []byte(u.mac(parts[0], parts[1], u.start, loginLabel))) {
		return errCode
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || now.After(time.Unix(seconds, 0)) {
		return errExpired
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.used[parts[0]] {
		return errUsed
	}
	u.used[parts[0]] = true // for as long as the engine runs: a clock may be set back
	return nil
}

// cookieName has the port, because two engines of a host would overwrite each other's cookie.
func (u *uiDoor) cookieName() string { return cookiePrefix + strconv.Itoa(u.port) }

// session returns the value of a cookie. It is valid for this start of the engine and for one user.
func (u *uiDoor) session(id string, user int) string {
	return id + "." + u.mac(id, strconv.Itoa(user), u.start, sessionLabel)
}

// hasSession reports whether a request has the cookie of a session of its user. A user who closes the
// connection before it is known whose it is has none.
func (u *uiDoor) hasSession(r *http.Request) bool {
	cookie, err := r.Cookie(u.cookieName())
	if err != nil {
		return false
	}
	user := peerOf(r)
	id, _, _ := strings.Cut(cookie.Value, ".")
	return !isLost(user) && hmac.Equal([]byte(cookie.Value), []byte(u.session(id, user)))
}

func isLost(user int) bool { return tellsUsers && user == unknownUser }

//go:embed login.html
var loginHTML string

// loginPage answers with the page that redeems the code in its own address. A browser sends that
// part of an address to no server.
func loginPage(w http.ResponseWriter, code int) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'none'; script-src '"+scriptHash(loginHTML)+"'")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, loginHTML)
}

// scriptHash returns the source expression that allows the one script of a page.
func scriptHash(page string) string {
	_, script, _ := strings.Cut(page, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
