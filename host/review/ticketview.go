package review

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/forge"
)

// ticketPath returns the path of a ticket's page.
func ticketPath(name string) string { return ticketsPath + url.PathEscape(name) }

// shortTicket returns the name of a ticket without its server.
func shortTicket(name string) string {
	_, short, _ := strings.Cut(name, "/")
	return display.Line(cmp.Or(short, name))
}

// ticketView is the page of a ticket.
type ticketView struct {
	shell
	Path, Name, Title string
	State             string
	Asking            bool
	Question, Wait    string // its text and its key
	Problem, Draft    string
	Run               string // path of the last run's page
	RunName           string
	Links             []choice // to the server
	Facts             [][2]string
}

// serveTicket serves what lies below a ticket. name is its escaped name.
func (p *page) serveTicket(w http.ResponseWriter, r request, escaped, last string) {
	name, err := url.PathUnescape(escaped)
	if err != nil {
		showError(w, r, http.StatusNotFound, "There is no such ticket.")
		return
	}
	switch {
	case last == escaped && r.Method != http.MethodPost:
		p.showTicket(w, r, name, "")
	case last == "answer" && r.Method == http.MethodPost:
		p.answerTicket(w, r, name)
	default:
		showError(w, r, http.StatusNotFound, "There is no such page.")
	}
}

func (p *page) showTicket(w http.ResponseWriter, r request, name, wrong string) {
	v, err := p.tickets.Ticket(r.Context(), name)
	if err != nil {
		showLoss(w, r, codeOf(err), err.Error(), wordsIn(r.PostForm))
		return
	}
	view, code := ticketOf(v), http.StatusOK
	view.shell = r.shell(view.Name)
	view.Walk, view.Waits = p.walkFrom(r.Context(), view.Path)
	if wrong != "" {
		view.Wrong, view.Draft, code = wrong, safeText(r.PostForm.Get(textField)), http.StatusConflict
	}
	renderPage(w, code, "ticket", view)
}

func ticketOf(v runs.TicketView) ticketView {
	s := v.State
	out := ticketView{Path: ticketPath(v.Name), Name: shortTicket(v.Name), Title: safeText(s.Title), State: string(s.Step), Problem: display.Line(v.Problem)}
	if !v.Open {
		out.State = string(s.End)
	}
	if q := s.Question; q != nil {
		out.Asking, out.Question, out.Wait, out.State = true, safeText(q.Text), q.Key, "asks"
	}
	if s.Run != "" {
		out.Run, out.RunName = RunPath(s.Run), display.Line(s.Name.Shown(s.Run))
	}
	if link := webLink(s.URL); link != "" {
		out.Links = append(out.Links, choice{Label: fmt.Sprintf("Pull request #%d", s.Pull), Path: link})
	}
	for _, f := range [][2]string{
		{"Runs", fmt.Sprint(s.Runs)}, {"Checks", s.Checks}, {"Approved by", strings.Join(s.Approvers, ", ")}, {"Cost", s.Spent.String()}, {"End", s.Reason}, {"Comment", s.Silent}, {"Text of the issue", string(s.Digest)},
	} {
		if f[1] != "" {
			out.Facts = append(out.Facts, [2]string{f[0], display.Line(f[1])})
		}
	}
	return out
}

// webLink returns the URL if a browser may follow it from the page; empty: it may not.
func webLink(text string) string {
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return text
}

// answerTicket answers the question that the form shows, and leads to what waits next.
func (p *page) answerTicket(w http.ResponseWriter, r request, name string) {
	r.PostForm = withLineFeeds(r.PostForm)
	text := strings.TrimSpace(cmp.Or(r.PostForm.Get(verbField), r.PostForm.Get(textField)))
	v, err := p.tickets.Ticket(r.Context(), name)
	switch {
	case err != nil:
		showLoss(w, r, codeOf(err), err.Error(), text)
		return
	case text == "":
		p.showTicket(w, r, name, "Nothing was changed: write an answer, or choose one.")
		return
	case v.State.Question == nil || v.State.Question.Key != r.PostForm.Get(idField):
		p.showTicket(w, r, name, "Nothing was changed: the ticket does not ask that any more.")
		return
	}
	if err := p.tickets.AnswerTicket(r.Context(), name, text); err != nil {
		if code := codeOf(err); code >= http.StatusInternalServerError {
			showLoss(w, r, code, err.Error()+". It is not known whether the ticket took what you sent: look at it again.", text)
			return
		}
		p.showTicket(w, r, name, "Nothing was changed: "+err.Error()+".")
		return
	}
	leadTo(w, r, outcome{said: "answered", path: p.nextAfter(r.Context(), ticketPath(name))}, ticketPath(name))
}

// linksOf returns the links of a run to its server: issue and ticket, pull request, and its checks.
func (p *page) linksOf(ctx context.Context, s seen) (links []choice) {
	if p.tickets == nil {
		return nil
	}
	if issue := s.Facts.Issue; issue != nil && webLink(issue.URL) != "" {
		links = append(links, choice{Label: "Issue", Path: issue.URL})
		if repo, n, err := forge.ParseIssue(issue.URL); err == nil {
			if v, err := p.tickets.Ticket(ctx, fmt.Sprintf("%s#%d", repo, n)); err == nil {
				links = append(links, choice{Label: "Ticket", Path: ticketPath(v.Name)})
			}
		}
	}
	if pull, ok := p.tickets.PullOf(ctx, s.Facts.RunID); ok && webLink(pull.URL) != "" {
		links = append(links, choice{Label: fmt.Sprintf("Pull request #%d", pull.Number), Path: pull.URL})
		if webLink(pull.Opened.Checks) != "" {
			links = append(links, choice{Label: "CI", Path: pull.Opened.Checks})
		}
	}
	return links
}
