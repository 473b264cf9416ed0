package forgetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/forge"
)

// list returns a page of the pull requests, the newest first.
func (s *Server) list(r *http.Request) []any {
	list := []any{}
	head := r.URL.Query().Get("head")
	for _, p := range slices.Backward(s.pulls) {
		if s.Kind == forge.Gitea || head == "" || head == Owner+":"+p.Head {
			list = append(list, s.wire(p))
		}
	}
	return list
}

// paged are the members of answers that are lists.
var paged = []string{"statuses", "check_runs", "check_suites"}

// secondPage returns what a page of a list holds: all is on the first. Gitea has all comments on each page.
func (s *Server) secondPage(r *http.Request, out any) any {
	if page := r.URL.Query().Get("page"); page == "" || page == "1" || s.Kind == forge.Gitea && strings.HasSuffix(r.URL.Path, "/comments") {
		return out
	}
	if m, ok := out.(map[string]any); ok {
		for _, member := range paged {
			if m[member] != nil {
				m[member] = []any{}
			}
		}
		return m
	}
	return []any{}
}

func (s *Server) open(title, head, base, body string, draft bool) (int, any) {
	for _, branch := range []string{head, base} {
		if !s.has("refs/heads/" + branch) {
			return http.StatusUnprocessableEntity, message("no branch " + branch)
		}
	}
	for _, p := range s.pulls {
		if p.Head == head && p.Base == base && p.State == "open" && !s.lax {
			if s.Kind == forge.Gitea {
				return http.StatusConflict, message("pull request already exists for these targets")
			}
			return http.StatusUnprocessableEntity, message("A pull request already exists for " + Owner + ":" + head + ".")
		}
	}
	p := &Pull{Number: len(s.pulls) + 1, Head: head, Base: base, Title: title, Body: body, Draft: draft && s.Kind == forge.GitHub, State: "open", changed: s.tick()}
	s.pulls = append(s.pulls, p)
	return http.StatusCreated, s.wire(p)
}

func (s *Server) wire(p *Pull) map[string]any {
	sha, _ := s.git("rev-parse", "refs/heads/"+p.Head)
	base, _ := s.git("rev-parse", "refs/heads/"+p.Base)
	out := map[string]any{
		"number": p.Number, "node_id": fmt.Sprintf("PR_%d", p.Number), "html_url": fmt.Sprintf("%s/%s/%s/pull/%d", s.URL, Owner, Name, p.Number),
		"state": p.State, "title": p.Title, "body": p.Body,
		"head": map[string]any{"ref": p.Head, "sha": sha, "repo": map[string]string{"full_name": Owner + "/" + Name}},
		"base": map[string]any{"ref": p.Base, "sha": base},
	}
	state := s.mergeable(base, sha)
	if s.Kind == forge.GitHub {
		out["draft"], out["mergeable_state"] = p.Draft, state
	} else {
		out["mergeable"] = state != "dirty"
	}
	if p.Merged {
		out["merged_at"] = "2026-11-28T00:00:00Z"
	}
	return out
}

func (s *Server) ofPull(words []string, p *Pull) (int, any) {
	switch {
	case len(words) == 2:
		return http.StatusOK, s.wire(p)
	case len(words) == 3:
		return http.StatusOK, s.wireReviews(p)
	}
	list := []any{}
	for _, r := range p.Reviews {
		for _, c := range r.Comments {
			if fmt.Sprint(r.ID) != words[3] {
				continue
			}
			out := s.wireComment(c)
			out["path"] = c.Path
			if s.Kind == forge.GitHub {
				out["line"] = c.Line
			} else if out["position"] = c.Line; c.Resolved {
				out["resolver"] = map[string]string{"login": "kim"}
			}
			list = append(list, out)
		}
	}
	return http.StatusOK, list
}

func (s *Server) wireReviews(p *Pull) []any {
	list := []any{}
	for _, r := range p.Reviews {
		user := map[string]string{"login": r.Author}
		out := map[string]any{"id": r.ID, "body": r.Body, "state": r.State, "commit_id": r.Commit, "user": user, "submitted_at": timeOf(r.at)}
		if s.Kind == forge.GitHub {
			out["author_association"] = "MEMBER"
			if r.Bot {
				user["type"], out["author_association"] = "Bot", "NONE"
			}
		} else {
			out["state"] = cmp.Or(map[string]string{"CHANGES_REQUESTED": "REQUEST_CHANGES", "COMMENTED": "COMMENT"}[r.State], r.State)
			out["official"] = r.official
		}
		list = append(list, out)
	}
	return list
}

// threads returns GitHub's threads of all pull requests, one for each comment.
func (s *Server) threads() (nodes []any) {
	for _, p := range s.pulls {
		for _, r := range p.Reviews {
			for _, c := range r.Comments {
				nodes = append(nodes, map[string]any{"isResolved": c.Resolved, "comments": map[string]any{"nodes": []any{map[string]any{"databaseId": c.ID}}}})
			}
		}
	}
	return nodes
}
