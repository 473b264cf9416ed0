package review

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// page answers requests whose caller is known.
type page struct {
	inbox    inbox.Inbox
	runs     Runs
	record   Record
	sessions Sessions // nil: none are shown
	tickets  Tickets  // nil: none are shown
	commands Commands // nil: none are offered
	hosts    func(context.Context) string
	now      func() time.Time
	live     *live
	works    *works

	looking sync.Mutex
	looked  time.Time // at what waits
	waits   []inbox.Item
}

// shell is what every page has around its content.
type shell struct {
	Title  string
	Waits  int // runs, sessions and tickets that wait
	Walk   walk
	Caller caller
	Said   string // what the last form has done
	Of     string // path of the page whose form that was; empty: of this one
	Wrong  string // why the last form has done nothing
	Live   string // path of the stream of changes; empty: the page does not change
}

// request is a request for a page, with its caller.
type request struct {
	*http.Request
	caller
}

// shell returns the shell of the page that a request is for.
func (r request) shell(title string) shell {
	s := shell{Title: title, Caller: r.caller, Said: saidWords[r.URL.Query().Get("said")]}
	if of := r.URL.Query().Get("of"); s.Said != "" && (strings.HasPrefix(of, runsPath) || strings.HasPrefix(of, sessionsPath) || strings.HasPrefix(of, ticketsPath)) {
		s.Of = of
	}
	return s
}

func (p *page) serveRequest(w http.ResponseWriter, r *http.Request, c caller) {
	req := request{r, c}
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	last := parts[len(parts)-1]
	switch {
	case r.URL.Path == "/" && r.Method != http.MethodPost:
		p.showQueue(w, req)
	case r.URL.Path == "/live" && r.Method == http.MethodGet:
		p.live.stream(w, r, "")
	case r.URL.Path == startPath:
		p.serveStart(w, req)
	case parts[0] == "sessions" && len(parts) > 1 && len(parts) < 4 && p.sessions != nil:
		p.serveSession(w, req, parts[1], last)
	case parts[0] == "tickets" && len(parts) > 1 && len(parts) < 4 && p.tickets != nil:
		p.serveTicket(w, req, parts[1], last)
	case parts[0] != "runs" || len(parts) < 2 || len(parts) > 3:
		showError(w, req, http.StatusNotFound, "There is no such page.")
	default:
		p.serveRun(w, req, parts[1], last)
	}
}

// serveRun serves what lies below a run. name is its escaped name.
func (p *page) serveRun(w http.ResponseWriter, r request, name, last string) {
	decoded, err := url.PathUnescape(name)
	if err != nil {
		showError(w, r, http.StatusNotFound, "There is no such run.")
		return
	}
	id, err := p.runs.Find(r.Context(), decoded)
	if err != nil {
		showError(w, r, codeOf(err), err.Error())
		return
	}
	switch {
	case last == name && r.Method != http.MethodPost:
		p.showRun(w, r, id, problem{})
	case last == "live" && r.Method == http.MethodGet:
		p.live.stream(w, r.Request, id)
	case last == "patch" && r.Method == http.MethodGet:
		p.servePatch(w, r, id)
	case last == "file" && r.Method == http.MethodGet:
		p.showFile(w, r, id)
	case r.Method == http.MethodPost && acts[last] != nil:
		p.doForm(w, r, id, last)
	default:
		showError(w, r, http.StatusNotFound, "There is no such page.")
	}
}

// codeOf returns the code of the answer that reports an error.
func codeOf(err error) int {
	_, missing := errors.AsType[*runs.NotFoundError](err)
	_, refused := errors.AsType[*runs.RefusedError](err)
	_, fault := errors.AsType[faultError](err)
	_, asks := errors.AsType[askError](err)
	_, gone := errors.AsType[missingError](err)
	_, noSession := errors.AsType[*sessions.NotFoundError](err)
	_, noTicket := errors.AsType[*runs.NoTicketError](err)
	_, command := errors.AsType[*commandError](err)
	switch {
	case fault, asks:
		return http.StatusBadRequest
	case missing, gone, noSession, noTicket:
		return http.StatusNotFound
	case refused, command, errors.Is(err, runs.ErrNoQuestion), errors.Is(err, runs.ErrOver), errors.Is(err, runs.ErrPaused):
		return http.StatusConflict
	case errors.Is(err, runs.ErrNoWorker), runs.Lost(err), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// saidWords say what a form has done, by the word in the address that follows it.
var saidWords = map[string]string{
	"approved": "Approved.", "rejected": "Sent back.", "ended": "Refused: the run ends.",
	"part":    "Accepted: what you marked is applied as a patch of its own.",
	"edited":  "Edited: your patch is proposed in the place of the other.",
	"allowed": "Allowed.", "refused": "Refused.", "answered": "Answered.", "noted": "Noted for the next prompt.", "canceled": "You canceled the run.", "started": "Started.",
}

const (
	runsPath     = "/runs/"
	sessionsPath = "/sessions/"
	ticketsPath  = "/tickets/"
	startPath    = "/start"
)

// RunPath returns the path of a run's page.
func RunPath(id run.ID) string { return runsPath + url.PathEscape(string(id)) }
