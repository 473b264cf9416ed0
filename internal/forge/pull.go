package forge

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Info is what a server says of a repository.
type Info struct {
	DefaultBranch string
	Archived      bool
	MayPush       bool // the token's account
}

// Info asks for the repository.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var out struct {
		DefaultBranch string `json:"default_branch"`
		Archived      bool   `json:"archived"`
		Permissions   struct {
			Push bool `json:"push"`
		} `json:"permissions"`
	}
	err := c.call(ctx, http.MethodGet, "/", nil, &out)
	// Of an app's token the server reports the permissions where it makes it.
	return Info{out.DefaultBranch, out.Archived, out.Permissions.Push || c.granted.Permissions["contents"] == "write"}, err
}

// Pull is a pull request.
type Pull struct {
	Number int
	ID     string // of GitHub's other API
	URL    string // of its page
	Head   string // commit
	Title  string // as it was set, without the mark of a draft
	Body   string
	Draft  bool
	Open   bool
	Merged bool
	Base   string // branch to merge into
	// Conflicts is set if the server finds that it cannot be merged. GitHub may not have looked yet. Gitea does not tell a
	// conflict from a look that is still to come.
	Conflicts bool
	// Behind is set if GitHub's rules want the base branch to be merged into it first.
	Behind bool
}

// wirePull has the members of both APIs. Gitea has no member for drafts in old versions: the title says it.
type wirePull struct {
	Number  int    `json:"number"`
	NodeID  string `json:"node_id"`
	HTMLURL string `json:"html_url"`
	State   string `json:"state"`
	Merged  bool   `json:"merged"`
	// MergedAt is set in lists, in which GitHub leaves out merged.
	MergedAt       string `json:"merged_at"`
	Title          string `json:"title"`
	Body           string `json:"body"`
	Draft          bool   `json:"draft"`
	MergeableState string `json:"mergeable_state"`
	Mergeable      *bool  `json:"mergeable"`
	Base           struct {
		Ref string `json:"ref"`
	} `json:"base"`
	Head struct {
		Ref  string `json:"ref"`
		SHA  string `json:"sha"`
		Repo struct {
			FullName string `json:"full_name"`
		} `json:"repo"`
	} `json:"head"`
}

// giteaDraft begins the title of a draft at Gitea.
const giteaDraft = "WIP: "

func (c *Client) pullOf(w wirePull) Pull {
	p := Pull{
		Number: w.Number, ID: w.NodeID, URL: w.HTMLURL, Head: w.Head.SHA, Title: w.Title, Body: w.Body, Draft: w.Draft,
		Open: w.State == "open", Merged: w.Merged || w.MergedAt != "",
		Base: w.Base.Ref, Conflicts: w.MergeableState == "dirty", Behind: w.MergeableState == "behind",
	}
	if c.server.Kind == Gitea {
		title, marked := strings.CutPrefix(w.Title, giteaDraft)
		p.Title, p.Draft = title, marked
		p.Conflicts = p.Open && !p.Draft && w.Mergeable != nil && !*w.Mergeable
	}
	return p
}

// FindPull returns the pull request of a branch of the repository itself, an open one first, then the last; nil: none.
func (c *Client) FindPull(ctx context.Context, branch string) (*Pull, error) {
	query := url.Values{"state": {"all"}, "head": {c.repo.Owner + ":" + branch}, "sort": {"created"}, "direction": {"desc"}, "per_page": {"50"}}
	if c.server.Kind == Gitea { // which knows no head and lists the newest first
		query = url.Values{"state": {"all"}, "limit": {"50"}}
	}
	var found *Pull
	for page := 1; page <= maxPages; page++ {
		query.Set("page", fmt.Sprint(page))
		var list []wirePull
		if err := c.call(ctx, http.MethodGet, "/pulls?"+query.Encode(), nil, &list); err != nil {
			return nil, err
		}
		for _, w := range list {
			if w.Head.Ref != branch || !strings.EqualFold(w.Head.Repo.FullName, c.repo.Owner+"/"+c.repo.Name) {
				continue
			}
			p := c.pullOf(w)
			if p.Open {
				return &p, nil
			}
			if found == nil {
				found = &p
			}
		}
		if len(list) == 0 {
			break
		}
	}
	return found, nil
}

// NewPull is the content of a pull request.
type NewPull struct {
	Branch, Base, Title, Body string
	Draft                     bool
}

// OpenPull opens a pull request for a branch, or returns the one that is there: created tells them apart. It looks
// before, and again where the server has one already or its answer was lost.
func (c *Client) OpenPull(ctx context.Context, n NewPull) (p Pull, created bool, err error) {
	if found, err := c.FindPull(ctx, n.Branch); err != nil || found != nil {
		return deref(found), false, err
	}
	return c.create(ctx, n)
}

// create opens a pull request, or finds the one that the server has.
func (c *Client) create(ctx context.Context, n NewPull) (p Pull, created bool, err error) {
	in := map[string]any{"title": n.Title, "head": n.Branch, "base": n.Base, "body": n.Body}
	switch {
	case c.server.Kind == Gitea && n.Draft:
		in["title"] = giteaDraft + n.Title
	case c.server.Kind == GitHub:
		in["draft"] = n.Draft
	}
	var w wirePull
	err = c.call(ctx, http.MethodPost, "/pulls", in, &w)
	if isCode(err, http.StatusUnprocessableEntity, http.StatusConflict) {
		if found, lookErr := c.FindPull(ctx, n.Branch); lookErr == nil && found != nil {
			return *found, false, nil
		}
	}
	return c.pullOf(w), err == nil, err
}

func deref(p *Pull) Pull {
	if p == nil {
		return Pull{}
	}
	return *p
}

// ChecksPage returns the URL of the page of a pull request's checks; empty: they are on its own page.
func (c *Client) ChecksPage(p Pull) string {
	if c.server.Kind == Gitea || p.URL == "" {
		return ""
	}
	return p.URL + "/checks"
}

// SetBody replaces the text of a pull request.
func (c *Client) SetBody(ctx context.Context, number int, body string) error {
	return c.call(ctx, http.MethodPatch, fmt.Sprintf("/pulls/%d", number), map[string]string{"body": body}, nil)
}

// SetReady makes a draft ready for review. Only GitHub's GraphQL API can.
func (c *Client) SetReady(ctx context.Context, p Pull) error {
	if !p.Draft {
		return nil
	}
	if c.server.Kind == Gitea {
		return c.call(ctx, http.MethodPatch, fmt.Sprintf("/pulls/%d", p.Number), map[string]string{"title": p.Title}, nil)
	}
	const query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
	return c.graphQL(ctx, query, map[string]any{"id": p.ID}, new(any))
}

// graphQL asks GitHub's other API, and decodes the data of the answer.
func (c *Client) graphQL(ctx context.Context, query string, variables map[string]any, data any) error {
	to := c.server.URL + "/api/graphql"
	if c.server.Host() == "github.com" {
		to = "https://api.github.com/graphql"
	}
	out := struct {
		Data   any `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}{Data: data}
	err := c.call(ctx, http.MethodPost, to, map[string]any{"query": query, "variables": variables}, &out)
	if err == nil && len(out.Errors) > 0 {
		err = &Error{Code: http.StatusUnprocessableEntity, Message: out.Errors[0].Message}
	}
	return err
}

// Status is the state of a commit as one context reports it.
type Status struct {
	State       State  `json:"state"`
	Context     string `json:"context"`
	Description string `json:"description"` // at most MaxDescription characters
	TargetURL   string `json:"target_url,omitempty"`
}

// State is the state of a status.
type State string

// The states. Both kinds know them.
const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
)

// MaxDescription bounds the characters of a description, by GitHub's rule.
const MaxDescription = 140

// wireStatus is a status in a list. Gitea calls the state status.
type wireStatus struct {
	State       State  `json:"state"`
	Status      State  `json:"status"`
	Context     string `json:"context"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

// SetStatus sets a status of a commit, unless it is the last of its context already.
func (c *Client) SetStatus(ctx context.Context, commit string, s Status) error {
	var list []wireStatus // the newest first
	if err := c.call(ctx, http.MethodGet, "/commits/"+url.PathEscape(commit)+"/statuses?per_page=100&limit=50", nil, &list); err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(w wireStatus) bool { return w.Context == s.Context }); i >= 0 {
		w := list[i]
		if (Status{cmp.Or(w.State, w.Status), w.Context, w.Description, w.TargetURL}) == s {
			return nil
		}
	}
	return c.call(ctx, http.MethodPost, "/statuses/"+url.PathEscape(commit), s, nil)
}
