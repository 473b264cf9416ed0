package review

import (
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// door decides who may use the page, and who a request is from, before any of the page is made.
//
// A request has to name a host of the page, which a page of another site whose name leads here does not. One that
// changes something has to come from a page of this origin and carry the token of its form, or carry a proof of its own:
// see answers. A session begins by a login link, which a holder of the key makes, and is bound to the user of this machine
// whose process began it: a browser sends a cookie to every port of a host.
type door struct {
	key     Key
	hosts   []string // of the Host header, in lower case
	origins []string // of the Origin header
	port    string
	secure  bool         // the browser reaches it by TLS
	proxy   *Proxy       // nil: the session alone names the user
	webUI   http.Handler // nil: none is served
	answers *answers     // that do not come from the page
	now     func() time.Time

	mu    sync.Mutex
	used  map[string]bool      // nonces of login codes that were used
	links map[string]shortLink // by their codes
}

// shortLink stands for a login link, whose code it needs once. It leads a browser that is logged in to the path as well.
type shortLink struct {
	code, path string
	end        time.Time
}

// caller is who a request is from.
type caller struct {
	Name  string
	Form  string // token that the forms of the caller carry
	Owner bool   // the caller opens the Web UI and starts runs
}

const (
	loginPath = "/login"
	proofPath = "/proof"
	linksPath = "/links"
	shortPath = "/l/"

	maxCode  = 1 << 10
	maxForm  = 1 << 20
	maxNonce = 128
	maxLinks = 10_000
)

// guardHandler returns a handler that calls next for the requests that may be, with the caller.
func (d *door) guardHandler(next func(http.ResponseWriter, *http.Request, caller)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if why, code := d.refusalOf(r); code != 0 {
			http.Error(w, why, code)
			return
		}
		switch {
		case r.URL.Path == proofPath:
			d.proveKey(w, r)
		case isAsset(r):
			serveAsset(w, r)
		case r.URL.Path == loginPath && r.Method == http.MethodPost:
			d.logIn(w, r)
		case r.URL.Path == linksPath && r.Method == http.MethodPost:
			d.shortenLink(w, r)
		case isDirect(r):
			d.answers.serve(w, r)
		case isFromElsewhere(r):
			renderPage(w, http.StatusOK, "bounce", r.URL.RequestURI())
		case isWebUI(r):
			d.serveWebUI(w, r)
		default:
			d.admitCaller(w, r, next)
		}
	})
}

// admitCaller calls next for a request whose caller is known.
func (d *door) admitCaller(w http.ResponseWriter, r *http.Request, next func(http.ResponseWriter, *http.Request, caller)) {
	c, ok := d.callerOf(r)
	code, isShort := strings.CutPrefix(r.URL.Path, shortPath)
	link, known := d.linkOf(code)
	switch {
	case ok && isShort && known:
		http.Redirect(w, r, link.path, http.StatusSeeOther)
	case !ok && r.Method == http.MethodPost:
		refuseForm(w, r, "You are not logged in: `starter page` prints a link. Nothing was changed.", http.StatusUnauthorized)
	case !ok:
		renderPage(w, http.StatusUnauthorized, "login", nil)
	case r.URL.Path == loginPath, isShort:
		renderPage(w, http.StatusOK, "login", nil) // its script redeems the code of a new link
	case r.Method == http.MethodPost && !d.hasToken(w, r, c):
		refuseForm(w, r, "This form was not made for your session: load the page again. Nothing was changed.", http.StatusForbidden)
	default:
		next(w, r, c)
	}
}

// refuseForm answers a form with the reason why it is not taken, and with the words in it: a session ends with the page's
// process, and a browser keeps nothing of a page that is not to be stored.
func refuseForm(w http.ResponseWriter, r *http.Request, why string, code int) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.ParseForm() == nil {
		if words := wordsIn(r.PostForm); words != "" {
			why += "\n\nWhat you wrote:\n\n" + words
		}
	}
	http.Error(w, why, code)
}

// refusalOf returns the reason for refusing a request from any caller, and the code of the answer; zero: not refused.
func (d *door) refusalOf(r *http.Request) (why string, code int) {
	site := r.Header.Get("Sec-Fetch-Site")
	origin := r.Header.Get("Origin")
	own := slices.Contains(d.origins, origin)
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	switch {
	case !slices.Contains(d.hosts, strings.ToLower(r.Host)):
		return "Ratchet's review page is at " + d.origins[0] + ". It does not answer to the name of this request.", http.StatusMisdirectedRequest
	case changes && r.Method != http.MethodPost && !isWebUI(r):
		return "The review page accepts only GET and POST.", http.StatusMethodNotAllowed
	case origin != "" && !own, changes && !own && !isDirect(r), changes && site != "" && site != "same-origin":
		return "The review page refuses requests from pages of another origin. Nothing was changed.", http.StatusForbidden
	case (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate":
		return "The review page cannot be embedded in another page.", http.StatusForbidden
	}
	return "", 0
}

// isFromElsewhere reports whether a page of another site leads here, as a link in a message does. The browser leaves
// the cookie at home then.
func isFromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Method == http.MethodGet && (site == "cross-site" || site == "same-site")
}

// callerOf returns who a request is from. Of a request of the proxy the header alone names the caller.
func (d *door) callerOf(r *http.Request) (caller, bool) {
	if d.proxy != nil && d.proxy.hasSent(r) {
		name, ok := d.proxy.nameIn(r)
		return caller{Name: name, Form: d.key.mac(formLabel, "proxy", name)}, ok
	}
	cookie, err := r.Cookie(d.cookieName())
	if err != nil || isLost(r) {
		return caller{}, false
	}
	id, name, ok := d.key.readSession(cookie.Value, peerOf(r), d.now())
	name, owner := strings.CutPrefix(name, ownerMark)
	return caller{name, d.key.mac(formLabel, "session", id), owner}, ok
}

// hasToken reports whether the form that was sent carries the token of the caller.
func (d *door) hasToken(w http.ResponseWriter, r *http.Request, c caller) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.ParseForm() != nil {
		return false
	}
	return hmac.Equal([]byte(r.PostForm.Get(tokenField)), []byte(c.Form))
}

// logIn gives a session for a login code, or for the code of a short link, whose path is the answer. A second call with
// the code is refused, unless the caller has a session.
func (d *door) logIn(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxCode))
	code, name := strings.TrimSpace(string(body)), ""
	short, ok := d.linkOf(code)
	if ok {
		code = short.code
	}
	switch {
	case err != nil:
	case isLost(r):
		err = errLost
	default:
		name, err = d.redeemCode(code)
	}
	if _, in := d.callerOf(r); err != nil && !in {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	if err == nil {
		http.SetCookie(w, &http.Cookie{
			Name: d.cookieName(), Value: d.key.sessionOf(name, peerOf(r), d.now().Add(sessionLife)), Path: "/",
			MaxAge: int(sessionLife / time.Second), HttpOnly: true, Secure: d.secure, SameSite: http.SameSiteStrictMode,
		})
	}
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_, _ = io.WriteString(w, short.path)
}

// shortenLink answers with a short link for a login link that this page would take: its code, and the path behind it. Who
// has such a link can log in by it, and gains nothing.
func (d *door) shortenLink(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxCode))
	if err == nil {
		var link string
		if link, err = d.shorten(string(body)); err == nil {
			_, _ = io.WriteString(w, link)
			return
		}
	}
	http.Error(w, err.Error(), http.StatusUnauthorized)
}

// shorten returns a short link for the fragment of a login link.
func (d *door) shorten(fragment string) (string, error) {
	code, path, _ := strings.Cut(fragment, "/")
	_, _, end, ok := d.key.readValue(loginLabel, code)
	switch {
	case !ok:
		return "", errCode
	case d.now().After(end):
		return "", errExpired
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for short, l := range d.links {
		if d.now().After(l.end) {
			delete(d.links, short)
		}
	}
	if len(d.links) >= maxLinks {
		return "", errors.New("too many links")
	}
	short := rand.Text()[:shortCode]
	d.links[short] = shortLink{code, "/" + strings.TrimLeft(path, `/\`), end} // of this origin
	return d.origins[0] + shortPath + short, nil
}

// shortCode is the length of a short link's code: 80 random bits.
const shortCode = 16

// linkOf returns the short link of a code.
func (d *door) linkOf(code string) (shortLink, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.links[code]
	return l, ok && !d.now().After(l.end)
}

// redeemCode uses up a login code and returns the name of the person that it is for.
func (d *door) redeemCode(code string) (string, error) {
	nonce, name, err := d.key.readLogin(code, d.now())
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used[nonce] {
		return "", errUsed
	}
	d.used[nonce] = true // for as long as the page is served: a clock may be set back
	return name, nil
}

// cookieName has the port, because two pages of a host would overwrite each other's cookie. The prefix has a browser
// take the cookie from a page of TLS alone.
func (d *door) cookieName() string {
	if d.secure {
		return "__Host-ratchet_review_" + d.port
	}
	return "ratchet_review_" + d.port
}

// proveKey answers with a code that proves that this server has the key. A program asks for it before it prints a link.
func (d *door) proveKey(w http.ResponseWriter, r *http.Request) {
	nonce := r.URL.Query().Get("nonce")
	if nonce == "" || len(nonce) > maxNonce {
		http.Error(w, "want a nonce", http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, d.key.mac(proofLabel, nonce, d.port))
}

// setHeaders sets what every answer has: no page of ours is part of another, runs a script of another place, sends its
// address to another, or is kept.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form of ours would name no origin
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	// No Strict-Transport-Security: it is of a name with all of its ports (RFC 6797, 8.3), and others may serve there.
}

// ownNames returns the hosts and origins of a page at an address and, if it has one, at a public URL. The first origin is
// the one that links lead to.
func ownNames(listen string, public *url.URL, secure bool) (hosts, origins []string) {
	scheme, standard := "http://", "80"
	if secure {
		scheme, standard = "https://", "443"
	}
	if public != nil {
		hosts, origins = append(hosts, strings.ToLower(public.Host)), append(origins, public.Scheme+"://"+strings.ToLower(public.Host))
	}
	host, port, _ := net.SplitHostPort(listen)
	names := []string{"127.0.0.1", "localhost", "[::1]"}
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() && !ip.IsUnspecified() {
		names = append([]string{strings.TrimSuffix(net.JoinHostPort(host, ""), ":")}, names...)
	}
	for _, name := range names {
		hosts, origins = append(hosts, name+":"+port), append(origins, scheme+name+":"+port)
		if port == standard {
			hosts, origins = append(hosts, name), append(origins, scheme+name)
		}
	}
	return hosts, origins
}
