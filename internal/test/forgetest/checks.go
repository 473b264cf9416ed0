package forgetest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/forge"
)

// ofActions answers questions about the jobs of the server's own continuous integration.
func (s *Server) ofActions(r *http.Request, words []string) (int, any) {
	at := strings.Join(words[1:], "/")
	switch {
	case at == "runs" && len(s.logs) == 0: // Gitea's answer where the repository does not use them
		return http.StatusForbidden, message("user should have specific read permission or be a repo admin or a site admin")
	case at == "runs":
		return http.StatusOK, map[string]any{"workflow_runs": []any{map[string]any{"id": 1, "head_sha": r.URL.Query().Get("head_sha")}}}
	case at == "runs/1/jobs":
		jobs := []any{}
		for name := range s.logs {
			jobs = append(jobs, map[string]any{"id": jobNumber(name), "name": name, "conclusion": "failure"})
		}
		return http.StatusOK, map[string]any{"jobs": jobs}
	case len(words) == 4 && words[1] == "jobs" && words[3] == "logs":
		for name, text := range s.logs {
			switch {
			case fmt.Sprint(jobNumber(name)) != words[2]:
			case s.Kind == forge.GitHub:
				return http.StatusFound, fmt.Sprintf("%s/api/v3/repos/%s/%s/storage/%s", s.URL, Owner, Name, words[2])
			default:
				return http.StatusOK, rawText(text)
			}
		}
	}
	return http.StatusNotFound, message("Not Found")
}

// rawText is an answer that is no JSON.
type rawText string

// jobNumber makes a number of a check's name.
func jobNumber(name string) int {
	sum := sha256.Sum256([]byte(name))
	return int(sum[0])<<16 + int(sum[1])<<8 + int(sum[2])
}

// serveLog serves the log of a job, at an address that is not the API's.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request, words []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, text := range s.logs {
		if len(words) == 1 && fmt.Sprint(jobNumber(name)) == words[0] && r.Header.Get("Authorization") == "" {
			_, _ = io.WriteString(w, text)
			return
		}
	}
	w.WriteHeader(http.StatusForbidden)
}

func (s *Server) ofCommit(commit, part string) any {
	runs, suites, statuses := []any{}, []any{}, []any{}
	for _, e := range s.statuses[commit] {
		statuses = append(statuses, map[string]any{"state": e.State, "status": e.State, "context": e.Context, "description": e.Description})
	}
	for _, c := range s.checks[commit] {
		status := "completed"
		if c.Conclusion == "" {
			status = "in_progress"
		}
		state := map[string]string{"": "pending", "success": "success"}[c.Conclusion]
		if state == "" {
			state = "failure"
		}
		switch {
		case s.Kind == forge.Gitea:
			statuses = append(statuses, map[string]any{"status": state, "context": c.Name, "description": c.Text})
		case c.Conclusion == "action_required": // such a workflow has no run yet
			suites = append(suites, map[string]any{"conclusion": c.Conclusion, "app": map[string]string{"name": c.Name}})
		default:
			runs = append(runs, map[string]any{"id": jobNumber(c.Name), "app": map[string]string{"slug": "github-actions"}, "name": c.Name, "status": status, "conclusion": c.Conclusion, "output": map[string]string{"title": c.Text}})
		}
	}
	switch part {
	case "check-runs":
		return map[string]any{"total_count": len(runs), "check_runs": runs}
	case "check-suites":
		return map[string]any{"total_count": len(suites), "check_suites": suites}
	}
	return map[string]any{"total_count": len(statuses), "statuses": statuses}
}
