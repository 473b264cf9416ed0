package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/auth"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/cors"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
	"google.golang.org/grpc/metadata"
)

// webUI serves Temporal's Web UI at a listener.
type webUI struct {
	server   *http.Server
	listener net.Listener
}

func newWebUI(d door, l net.Listener) (*webUI, error) {
	port := portOf(l.Addr().String())
	site, err := uiSite(uiConfig(d.address, port), d)
	if err != nil {
		return nil, fmt.Errorf("set up the Web UI: %w", err)
	}
	handler := ownNamesOnly(port, newUIDoor(d, port, site))
	return &webUI{listener: l, server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ConnContext: withPeer}}, nil
}

// serve serves the Web UI and returns when it is closed.
func (w *webUI) serve() error {
	if err := w.server.Serve(w.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the Web UI: %w", err)
	}
	return nil
}

func (w *webUI) url() string { return "http://" + w.listener.Addr().String() }

func (w *webUI) close() error { return w.server.Close() }

// ownNamesOnly refuses a request for any host but the loopback interface at this port. A page of
// another site can point its name at this machine. A browser then takes it for the same origin as
// the Web UI, and only the name in the request tells them apart.
func ownNamesOnly(port int, next http.Handler) http.Handler {
	names := []string{"127.0.0.1", "localhost", "[::1]"}
	var own []string
	for _, name := range names {
		own = append(own, name+":"+strconv.Itoa(port))
	}
	if port == 80 {
		own = append(own, names...)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(own, strings.ToLower(r.Host)) {
			next.ServeHTTP(w, r)
			return
		}
		http.Error(w, fmt.Sprintf("Ratchet's Web UI answers at http://%s and http://%s, not at %.100q.", own[0], own[1], r.Host),
			http.StatusMisdirectedRequest)
	})
}

// uiSite returns the handler that ui-server's own server.NewServer builds, without logs. NewServer
// does not expose its handler, and another handler could not be put before it.
func uiSite(cfg *uiconfig.Config, d door) (http.Handler, error) {
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
	if d.open {
		files = withBanner{files}
	}
	secureCookie := !cfg.CORS.CookieInsecure
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(),
		cors.CORSMiddleware(cors.CORSConfig{AllowHeaders: crossOriginHeaders, AllowCredentials: true, ConfigProvider: provider}),
		middleware.Secure(),
		csrf.EnsureTokenCookie(secureCookie), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secureCookie)))
	e.Pre(route.PublicPath(cfg.PublicPath))
	route.SetHealthRoute(e)
	forward := headers.WithForwardHeaders([]string{auth.AuthorizationExtrasHeader, callerType})
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{forward, authorize(d)}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, cfg.PublicPath, files, provider); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "/")
	return e, nil
}

// authorize makes the Web UI's server a holder of the bearer token.
func authorize(d door) api.Middleware {
	md := metadata.Pairs("authorization", d.bearer())
	return func(echo.Context) runtime.ServeMuxOption {
		return runtime.WithMetadata(func(context.Context, *http.Request) metadata.MD { return md })
	}
}

// withBanner is the Web UI's files with a warning on every page.
type withBanner struct{ fs.FS }

const banner = `<body><div style="position:fixed;bottom:0;right:0;z-index:9999;padding:2px 8px;background:#b91c1c;color:#fff;font:14px sans-serif">` +
	`This engine is open: every user and program of this machine can approve.</div>`

// ReadFile returns the content of a file.
func (b withBanner) ReadFile(name string) ([]byte, error) {
	content, err := fs.ReadFile(b.FS, name)
	return bytes.Replace(content, []byte("<body>"), []byte(banner), 1), err
}

const callerType = "Caller-Type"

var crossOriginHeaders = []string{
	echo.HeaderOrigin, echo.HeaderContentType, echo.HeaderAccept, echo.HeaderXCSRFToken, echo.HeaderAuthorization,
	auth.AuthorizationExtrasHeader, callerType,
}

func uiConfig(frontend string, port int) *uiconfig.Config {
	return &uiconfig.Config{
		TemporalGRPCAddress: frontend,
		Host:                loopback,
		Port:                port,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		// The Web UI uses plain HTTP on loopback. A browser drops a secure cookie there, and with
		// it the token that every form needs.
		CORS: uiconfig.CORS{CookieInsecure: true},
	}
}
