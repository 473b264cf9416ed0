package forgetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/forge"
)

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	prefix := "/api/v3"
	if s.Kind == forge.Gitea {
		prefix = "/api/v1"
	}
	path, below := strings.CutPrefix(r.URL.Path, prefix+"/repos/"+Owner+"/"+Name)
	if r.URL.Path == prefix+"/user" {
		path, below = "/user", true
	}
	if r.URL.Path == "/api/graphql" && s.Kind == forge.GitHub {
		path, below = "/graphql", true
	}
	if strings.HasPrefix(r.URL.Path, prefix+"/app/") {
		path, below = strings.TrimPrefix(r.URL.Path, prefix), true
	}
	if !below {
		answer(w, http.StatusNotFound, message("Not Found"))
		return
	}
	words := strings.Split(strings.Trim(path, "/"), "/")
	if words[0] == "storage" { // which knows no token, and must not get one
		s.serveLog(w, r, words[1:])
		return
	}
	if s.Kind == forge.GitHub && s.serveApp(w, r, path) {
		return
	}
	if !s.admits(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
		answer(w, http.StatusUnauthorized, message("Bad credentials"))
		return
	}
	call := strings.TrimSpace(r.Method + " " + words[0])
	fault := s.nextFault(call)
	time.Sleep(fault.Late)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	if s.limited != nil {
		if header := s.limited(); header != nil {
			s.refused++
			fault = Fault{Code: http.StatusTooManyRequests, Header: header}
		}
	}
	if fault.Code != 0 {
		for name, values := range fault.Header {
			w.Header()[name] = values
		}
		answer(w, fault.Code, message("planted"))
		return
	}
	code, out := s.do(r, words)
	out = s.secondPage(r, out)
	if fault.Cut {
		b, _ := json.Marshal(out)
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.WriteHeader(code)
		_, _ = w.Write(b[:len(b)/2])
		return
	}
	if fault.Lose {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Close()
		}
		return
	}
	s.answer(w, r, code, out)
}

func (s *Server) nextFault(call string) (f Fault) {
	s.set(func() {
		if list := s.faults[call]; len(list) > 0 {
			f, s.faults[call] = list[0], list[1:]
		}
	})
	return f
}

// answer answers as the kind does: GitHub tells an entity tag, and answers 304 to who knows it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, code int, out any) {
	if s.Kind == forge.GitHub {
		w.Header().Set("X-RateLimit-Limit", "5000")
		if s.scopes != "" {
			w.Header().Set("X-OAuth-Scopes", s.scopes)
		}
		w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(5000-len(s.calls)+s.same))
		w.Header().Set("X-RateLimit-Reset", "1790003600")
	}
	if s.Kind == forge.GitHub && r.Method == http.MethodGet && code == http.StatusOK {
		b, _ := json.Marshal(out)
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(b))
		w.Header().Set("ETag", tag)
		switch known := r.Header.Get("If-None-Match"); {
		case known == tag:
			s.same++
			w.WriteHeader(http.StatusNotModified)
			return
		case known != "":
			s.fresh++
		}
	}
	answer(w, code, out)
}

func message(text string) map[string]string { return map[string]string{"message": text} }

func answer(w http.ResponseWriter, code int, body any) {
	if text, ok := body.(rawText); ok {
		_, _ = io.WriteString(w, string(text))
		return
	}
	if code == http.StatusFound {
		w.Header().Set("Location", body.(string))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// do has the effect of a call.
func (s *Server) do(r *http.Request, words []string) (code int, out any) {
	var in struct {
		Title, Head, Base, Body, Query string
		Draft                          bool
		Variables                      struct{ ID string }
		forge.Status
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	if code, out := s.ofTicket(r, words, in.Query, in.Body); code != 0 {
		return code, out
	}
	switch {
	case words[0] == "" && r.Method == http.MethodGet:
		return http.StatusOK, map[string]any{"default_branch": "main", "archived": s.archived, "permissions": map[string]bool{"push": !s.noPush && s.app == nil}}
	case words[0] == "graphql" && strings.Contains(in.Query, "markPullRequestReadyForReview"):
		for _, p := range s.pulls {
			if fmt.Sprintf("PR_%d", p.Number) == in.Variables.ID {
				p.Draft = false
				return http.StatusOK, map[string]any{"data": map[string]any{}}
			}
		}
		return http.StatusOK, map[string]any{"errors": []any{message("no such node")}}
	case words[0] == "pulls" && r.Method == http.MethodGet && len(words) == 1:
		return http.StatusOK, s.list(r)
	case words[0] == "pulls" && r.Method == http.MethodPost:
		return s.open(in.Title, in.Head, in.Base, in.Body, in.Draft)
	case words[0] == "pulls" && r.Method == http.MethodPatch && len(words) == 2:
		for _, p := range s.pulls {
			if fmt.Sprint(p.Number) == words[1] {
				if in.Body != "" {
					p.Body = in.Body
				}
				if in.Title != "" {
					p.Title = in.Title
				}
				p.changed = s.tick()
				return http.StatusOK, s.wire(p)
			}
		}
	case words[0] == "commits" && len(words) == 3 && words[2] == "statuses":
		list := []map[string]any{}
		for _, e := range s.statuses[words[1]] {
			word := "state"
			if s.Kind == forge.Gitea {
				word = "status"
			}
			list = append(list, map[string]any{word: e.State, "context": e.Context, "description": e.Description, "target_url": e.TargetURL})
		}
		return http.StatusOK, list
	case words[0] == "statuses" && r.Method == http.MethodPost && len(words) == 2:
		if !s.has(words[1]) {
			return http.StatusUnprocessableEntity, message("No commit found for SHA: " + words[1])
		}
		s.statuses[words[1]] = slices.Insert(s.statuses[words[1]], 0, in.Status)
		return http.StatusCreated, in.Status
	}
	return http.StatusNotFound, message("Not Found")
}
