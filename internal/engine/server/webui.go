package main

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// webUI serves Temporal's Web UI, and the HTTP API that it uses, to clients that have the key. The review page serves it
// to browsers, behind its own login.
type webUI struct {
	server   *http.Server
	listener net.Listener
}

func newWebUI(frontend string, k key, open bool, l net.Listener) (*webUI, error) {
	site, err := uiSite(uiConfig(frontend, k, open), open)
	if err != nil {
		return nil, fmt.Errorf("set up the Web UI: %w", err)
	}
	// A stranger could fill the log by connections that are refused.
	quiet := log.New(io.Discard, "", 0)
	return &webUI{listener: l, server: &http.Server{Handler: site, TLSConfig: k.server(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxHeader, ErrorLog: quiet}}, nil
}

// maxHeader has room for the address of a page of a workflow, which the Web UI sends whole: some 60 KB.
const maxHeader = 128 << 10

// serve serves the Web UI and returns when it is closed.
func (w *webUI) serve() error {
	if err := w.server.ServeTLS(w.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the Web UI: %w", err)
	}
	return nil
}

func (w *webUI) url() string { return "https://" + w.listener.Addr().String() }

func (w *webUI) close() error { return w.server.Close() }

// uiPath is where the review page serves the Web UI. Package review has the same.
const uiPath = "/temporal"

// uiSite returns the handler that ui-server's own server.NewServer builds, without logs and without its defence against
// forged requests: no browser has the key, and the review page refuses requests from other sites. NewServer does not
// expose its handler.
func uiSite(cfg *uiconfig.Config, open bool) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(cfg)
	if err != nil {
		return nil, err
	}
	files, err := ui.Assets()
	if err == nil {
		files, err = fs.Sub(files, "local")
	}
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure())
	route.SetHealthRoute(e)
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{headers.WithForwardHeaders([]string{callerType})}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, cfg.PublicPath, mounted{files, open}, provider); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "/")
	return e, nil
}

// mounted is the Web UI's files for uiPath. ui-server can mount them as well, but drops the policy that allows the page
// its own script alone. An open engine has a warning on every page.
type mounted struct {
	fs.FS
	open bool
}

const banner = `<body><div style="position:fixed;bottom:0;right:0;z-index:9999;padding:2px 8px;background:#b91c1c;color:#fff;font:14px sans-serif">` +
	`This engine is open: every user and program of this machine can approve.</div>`

// ReadFile returns the content of a file.
func (m mounted) ReadFile(name string) ([]byte, error) {
	content, err := fs.ReadFile(m.FS, name)
	page := string(content)
	before := scriptHash(page)
	page = strings.NewReplacer(`base: ""`, `base: "`+uiPath+`"`, `"/_app/`, `"`+uiPath+`/_app/`).Replace(page)
	page = strings.ReplaceAll(page, before, scriptHash(page))
	if m.open {
		page = strings.Replace(page, "<body>", banner, 1)
	}
	return []byte(page), err
}

// scriptHash returns the source expression that allows the one script of a page.
func scriptHash(page string) string {
	_, script, _ := strings.Cut(page, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

const callerType = "Caller-Type"

func uiConfig(frontend string, k key, open bool) *uiconfig.Config {
	c := &uiconfig.Config{
		TemporalGRPCAddress: frontend,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
	}
	if !open {
		data := base64.StdEncoding.EncodeToString(k.pem)
		c.TLS = uiconfig.TLS{CaData: data, CertData: data, KeyData: data, EnableHostVerification: true}
	}
	return c
}
