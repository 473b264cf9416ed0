package review

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io"
	"log"
	"net/http"
	"path"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

//go:embed web
var web embed.FS

var discard = log.New(io.Discard, "", 0) // a stranger could fill a log

// pages are the templates. They escape what they show for the place where it stands.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"asset": func(name string) string { return assetPaths[name] },
	"args":  namedArgs,
}).ParseFS(web, "web/*.html"))

// asset is a file that every page may load. Its path holds a part of its digest, so a browser keeps it.
type asset struct {
	kind    string
	content []byte
}

var assets, assetPaths = readAssets()

func readAssets() (byPath map[string]asset, byName map[string]string) {
	byPath, byName = map[string]asset{}, map[string]string{}
	for name, kind := range map[string]string{"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "login.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		content, err := web.ReadFile(path.Join("web", name))
		if err != nil {
			panic(err) // it is embedded
		}
		sum := sha256.Sum256(content)
		at := "/assets/" + hex.EncodeToString(sum[:6]) + "/" + name
		byPath[at], byName[name] = asset{kind, content}, at
	}
	return byPath, byName
}

func isAsset(r *http.Request) bool {
	return r.Method != http.MethodPost && strings.HasPrefix(r.URL.Path, "/assets/")
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(a.content)
}

// renderPage answers with a page. A page that cannot be made is an error, and no half of it is sent.
func renderPage(w http.ResponseWriter, code int, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "The page cannot be rendered: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}

func showError(w http.ResponseWriter, r request, code int, text string) {
	showLoss(w, r, code, text, "")
}

// showLoss answers with an error, and with what a person has written into a form that is gone.
func showLoss(w http.ResponseWriter, r request, code int, text, words string) {
	renderPage(w, code, "error", struct {
		shell
		Text, Words string
	}{shell{Title: "Error", Caller: r.caller}, display.Line(text), safeText(words)})
}

// namedArgs returns named values for a template that another calls.
func namedArgs(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}
