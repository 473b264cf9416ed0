package forgetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/forge"
)

// Me is the account of the token.
const Me = "ratchet-bot"

// Issue is an issue of the server.
type Issue struct {
	Number         int
	Title, Body    string
	Author         string
	Closed, Locked bool
	IsPull         bool
	Comments       []*Comment
	Labels         []*Label
	Edited         string // when the text was edited last, as the server writes times; empty: never
	changed        int64
}

// Label is a label that somebody has set.
type Label struct {
	Name, By string
	Removed  bool
	at       int64
}

// Comment is a comment on an issue, or on a line of a pull request.
type Comment struct {
	ID           int64
	Author, Body string
	Path         string
	Line         int
	Resolved     bool
	Bot          bool
	at, edited   int64
}

// Review is a review of a pull request. State is GitHub's word.
type Review struct {
	ID                          int64
	Author, Body, State, Commit string
	Comments                    []*Comment
	Bot                         bool // an app, which GitHub gives no right of a person
	at                          int64
	official                    bool // as Gitea means it: the author could write
}

// Check is a check run, or a status of a server of the other kind. Conclusion is GitHub's word; empty: it runs.
type Check struct{ Name, Conclusion, Text string }

// AddIssue adds an issue.
func (s *Server) AddIssue(i Issue) {
	s.set(func() {
		i.changed = s.tick()
		s.issues[i.Number] = &i
	})
}

// ChangeIssue changes an issue, as a person does on its page.
func (s *Server) ChangeIssue(number int, change func(*Issue)) {
	s.set(func() {
		i := s.issues[number]
		before := *i
		change(i)
		i.changed = s.tick()
		if i.Body != before.Body {
			i.Edited = timeOf(i.changed)
		}
		for _, l := range i.Labels {
			if l.at == 0 {
				l.at = i.changed
			}
		}
	})
}

// Comments returns copies of the comments on an issue.
func (s *Server) Comments(number int) (list []Comment) {
	s.set(func() {
		for _, c := range s.issues[number].Comments {
			list = append(list, *c)
		}
	})
	return list
}

// Permit gives an account the right to write, and Revoke takes it away.
func (s *Server) Permit(account string) { s.set(func() { s.writers = append(s.writers, account) }) }

// Revoke takes the right to write away from an account.
func (s *Server) Revoke(account string) {
	s.set(func() { s.writers = slices.DeleteFunc(s.writers, func(w string) bool { return w == account }) })
}

// SetLog sets the log of failed checks with a name.
func (s *Server) SetLog(check, text string) { s.set(func() { s.logs[check] = text }) }

// Review adds a review of the present head of a pull request.
func (s *Server) Review(number int, r Review) {
	s.set(func() {
		p := s.pulls[number-1]
		if r.Commit == "" {
			r.Commit, _ = s.git("rev-parse", "refs/heads/"+p.Head)
		}
		s.last++
		r.ID, r.at = s.last, s.tick()
		r.official = slices.Contains(s.writers, r.Author) && r.State != "COMMENTED"
		for _, c := range r.Comments {
			s.last++
			c.ID = s.last
			c.Author = r.Author
		}
		p.Reviews = append(p.Reviews, &r)
		p.changed = s.tick()
	})
}

// Comment adds a comment to a pull request, and Edit replaces the text of one.
func (s *Server) Comment(number int, c Comment) {
	s.set(func() {
		p := s.pulls[number-1]
		s.last++
		c.ID, c.at = s.last, s.tick()
		c.edited = c.at
		p.Comments, p.changed = append(p.Comments, &c), c.at
	})
}

// Edit edits the last comment on a pull request. As at Gitea, this is no change of the pull request.
func (s *Server) Edit(number int, text string) {
	s.set(func() {
		list := s.pulls[number-1].Comments
		c := list[len(list)-1]
		c.Body, c.edited = text, s.tick()
	})
}

// Administrate makes the token's account an administrator of the repository.
func (s *Server) Administrate() { s.set(func() { s.admin = true }) }

// SetChecks sets what continuous integration says of a commit.
func (s *Server) SetChecks(commit string, list ...Check) { s.set(func() { s.checks[commit] = list }) }

// Conditional returns how many conditional calls were answered with 304, and how many with a body.
func (s *Server) Conditional() (same, fresh int) {
	s.set(func() { same, fresh = s.same, s.fresh })
	return same, fresh
}

// ofTicket has the effect of a call that tickets make; zero: it is none.
func (s *Server) ofTicket(r *http.Request, words []string, query, body string) (code int, out any) {
	number := 0
	if len(words) > 1 {
		number, _ = strconv.Atoi(words[1])
	}
	switch at := r.Method + " " + words[0]; {
	case at == "GET user" && s.app != nil:
		return http.StatusForbidden, message("Resource not accessible by integration")
	case at == "GET user":
		return http.StatusOK, map[string]string{"login": Me}
	case at == "GET collaborators" && len(words) == 3:
		if s.Kind == forge.Gitea && !s.admin {
			return http.StatusForbidden, message("Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own")
		}
		permission := "read"
		if slices.Contains(s.writers, words[1]) {
			permission = "write"
		}
		return http.StatusOK, map[string]string{"permission": permission}
	case at == "GET issues" && len(words) == 1:
		return http.StatusOK, s.listIssues(r)
	case words[0] == "actions" && r.Method == http.MethodGet:
		return s.ofActions(r, words)
	case words[0] == "issues" && len(words) > 1:
		if s.issues[number] == nil && number > 0 && number <= len(s.pulls) && r.Method == http.MethodGet {
			return http.StatusOK, s.wireComments(s.pulls[number-1].Comments)
		}
		return s.ofIssue(r.Method, words, number, body)
	case at == "GET pulls" && len(words) > 1:
		if number < 1 || number > len(s.pulls) {
			return http.StatusNotFound, message("Not Found")
		}
		return s.ofPull(words, s.pulls[number-1])
	case at == "GET commits" && len(words) == 3 && words[2] != "statuses":
		return http.StatusOK, s.ofCommit(words[1], words[2])
	case words[0] == "graphql" && strings.Contains(query, "lastEditedAt"):
		edited := map[string]any{}
		for _, i := range s.issues {
			if strings.Contains(query, fmt.Sprintf("issue(number: %d)", i.Number)) && i.Edited != "" {
				edited["lastEditedAt"] = i.Edited
			}
		}
		return http.StatusOK, map[string]any{"data": map[string]any{"repository": map[string]any{"issue": edited}}}
	case words[0] == "graphql" && strings.Contains(query, "reviewThreads"):
		return http.StatusOK, map[string]any{"data": map[string]any{"repository": map[string]any{"pullRequest": map[string]any{"reviewThreads": map[string]any{"nodes": s.threads()}}}}}
	}
	return 0, nil
}

// me returns the account of the token.
func (s *Server) me() string {
	if s.app != nil {
		return AppMe
	}
	return Me
}

func (s *Server) ofIssue(method string, words []string, number int, body string) (int, any) {
	if words[1] == "comments" && method == http.MethodPatch && len(words) == 3 {
		for _, i := range s.issues {
			for _, c := range i.Comments {
				if fmt.Sprint(c.ID) == words[2] && c.Author == s.me() {
					c.Body = body
					i.changed = s.tick()
					return http.StatusOK, s.wireComment(c)
				}
			}
		}
		return http.StatusForbidden, message("Must have admin rights to Repository.")
	}
	i := s.issues[number]
	switch {
	case i == nil:
		return http.StatusNotFound, message("Not Found")
	case len(words) == 2:
		return http.StatusOK, s.wireIssue(i)
	case words[2] == "events" || words[2] == "timeline":
		return http.StatusOK, s.eventsOf(i)
	case method == http.MethodPost:
		s.last++
		c := &Comment{ID: s.last, Author: s.me(), Body: body}
		i.Comments = append(i.Comments, c)
		i.changed = s.tick()
		return http.StatusCreated, s.wireComment(c)
	}
	return http.StatusOK, s.wireComments(i.Comments)
}

func (s *Server) wireIssue(i *Issue) map[string]any {
	out := map[string]any{"number": i.Number, "title": i.Title, "body": i.Body, "state": "open", "user": map[string]string{"login": i.Author}, "updated_at": timeOf(i.changed)}
	if i.Closed {
		out["state"] = "closed"
	}
	word := "locked"
	if s.Kind == forge.Gitea {
		word = "is_locked"
	}
	out[word] = i.Locked
	if i.IsPull {
		out["pull_request"] = map[string]any{}
	}
	labels := []any{}
	for _, name := range i.labels() {
		labels = append(labels, map[string]string{"name": name})
	}
	out["labels"] = labels
	return out
}

// labels returns the names of the labels that are set.
func (i *Issue) labels() (names []string) {
	for _, l := range i.Labels {
		names = slices.DeleteFunc(names, func(name string) bool { return name == l.Name })
		if !l.Removed {
			names = append(names, l.Name)
		}
	}
	return names
}

// eventsOf returns who has set labels, in the form of the kind.
func (s *Server) eventsOf(i *Issue) []any {
	list := []any{}
	for _, l := range i.Labels {
		out := map[string]any{"created_at": timeOf(l.at), "label": map[string]string{"name": l.Name}}
		if s.Kind == forge.GitHub {
			out["event"], out["actor"] = "labeled", map[string]string{"login": l.By}
			if l.Removed {
				out["event"] = "unlabeled"
			}
		} else {
			out["type"], out["user"], out["body"] = "label", map[string]string{"login": l.By}, "1"
			if l.Removed {
				out["body"] = ""
			}
		}
		list = append(list, out)
	}
	return list
}

// listIssues lists issues and pull requests, as both kinds do.
func (s *Server) listIssues(r *http.Request) []any {
	list := []any{}
	q := r.URL.Query()
	for _, i := range s.issues {
		if timeOf(i.changed) < q.Get("since") || q.Get("state") == "open" && i.Closed || q.Get("labels") != "" && !slices.Contains(i.labels(), q.Get("labels")) {
			continue
		}
		list = append(list, s.wireIssue(i))
	}
	if q.Get("labels") == "" {
		for _, p := range s.pulls {
			if timeOf(p.changed) >= q.Get("since") {
				list = append(list, map[string]any{"number": p.Number, "state": p.State, "updated_at": timeOf(p.changed), "pull_request": map[string]any{}})
			}
		}
	}
	slices.SortFunc(list, func(a, b any) int {
		x, y := a.(map[string]any), b.(map[string]any)
		return cmp.Or(strings.Compare(y["updated_at"].(string), x["updated_at"].(string)), cmp.Compare(x["number"].(int), y["number"].(int)))
	})
	return list
}

func (s *Server) wireComment(c *Comment) map[string]any {
	user := map[string]string{"login": c.Author}
	out := map[string]any{"id": c.ID, "body": c.Body, "user": user, "created_at": timeOf(c.at), "updated_at": timeOf(c.edited)}
	if s.Kind == forge.GitHub {
		out["author_association"] = "MEMBER"
		if c.Bot {
			user["type"] = "Bot"
		}
	}
	return out
}

// wireComments returns a list of comments. Gitea has it whole on each page.
func (s *Server) wireComments(comments []*Comment) []any {
	list := []any{}
	for _, c := range comments {
		list = append(list, s.wireComment(c))
	}
	return list
}
