package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

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
)

// webUI serves Temporal's Web UI at a listener.
type webUI struct {
	server   *http.Server
	listener net.Listener
}

func newWebUI(frontend string, l net.Listener) (*webUI, error) {
	site, err := uiSite(uiConfig(frontend, portOf(l.Addr().String())))
	if err != nil {
		return nil, fmt.Errorf("set up the Web UI: %w", err)
	}
	door := ownNamesOnly(portOf(l.Addr().String()), site)
	return &webUI{listener: l, server: &http.Server{Handler: door, ReadHeaderTimeout: 10 * time.Second}}, nil
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
func uiSite(cfg *uiconfig.Config) (http.Handler, error) {
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
	secureCookie := !cfg.CORS.CookieInsecure
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(),
		cors.CORSMiddleware(cors.CORSConfig{AllowHeaders: crossOriginHeaders, AllowCredentials: true, ConfigProvider: provider}),
		middleware.Secure(),
		csrf.EnsureTokenCookie(secureCookie), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secureCookie)))
	e.Pre(route.PublicPath(cfg.PublicPath))
	route.SetHealthRoute(e)
	forward := headers.WithForwardHeaders([]string{auth.AuthorizationExtrasHeader, callerType})
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{forward}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, cfg.PublicPath, files, provider); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "/")
	return e, nil
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
