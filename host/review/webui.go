package review

import (
	"net/http"
	"net/http/httputil"
	"strings"
)

// UIPath is where the page serves Temporal's Web UI. The engine's program has the same.
const UIPath = "/temporal"

// ownerMark begins the name in a login code and in a session of the owner of the engine. No name holds such a character.
const ownerMark = "\x00"

func isWebUI(r *http.Request) bool {
	return r.URL.Path == UIPath || strings.HasPrefix(r.URL.Path, UIPath+"/")
}

// serveWebUI passes a request of the owner to the engine. The Web UI can start any workflow, and so run any command as the
// worker's user. Therefore people who may only decide are refused.
func (d *door) serveWebUI(w http.ResponseWriter, r *http.Request) {
	c, ok := d.callerOf(r)
	switch {
	case !ok && strings.Contains(r.Header.Get("Accept"), "text/html"):
		renderPage(w, http.StatusUnauthorized, "login", nil)
	case !ok:
		http.Error(w, "You are not logged in: `starter ui` prints a link.", http.StatusUnauthorized)
	case d.webUI == nil:
		http.Error(w, "This page serves no Web UI: its worker is connected to a server of its own.", http.StatusNotFound)
	case !c.Owner:
		http.Error(w, "The Web UI is for the owner of the engine: `starter ui` prints a link.", http.StatusForbidden)
	default:
		clear(w.Header()) // the Web UI has a policy of its own
		w.Header().Set("Referrer-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		d.webUI.ServeHTTP(w, r)
	}
}

// newWebUI returns a handler that hands requests on by a transport.
func newWebUI(engine http.RoundTripper) http.Handler {
	return http.StripPrefix(UIPath, &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "https", "127.0.0.1", ""
			r.Out.Header.Del("Cookie")
			r.Out.Header.Del("Origin")
		},
		Transport: engine,
		ErrorLog:  discard,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "The engine does not answer: load the page again.", http.StatusBadGateway)
		},
	})
}
