package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Issue is an issue. Title and Body are other people's words.
type Issue struct {
	Number int
	Title  string
	Body   string
	Author string // account
	Labels []string
	Open   bool
	Locked bool
	IsPull bool // the number is a pull request's
}

type wireIssue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	State  string `json:"state"`
	// Gitea names it is_locked.
	Locked   bool `json:"locked"`
	IsLocked bool `json:"is_locked"`
	User     user `json:"user"`
	Labels   []struct {
		Name string `json:"name"`
	} `json:"labels"`
	PullRequest *struct{} `json:"pull_request"`
	UpdatedAt   string    `json:"updated_at"`
}

// user is an account.
type user struct {
	Login string `json:"login"`
	Type  string `json:"type"` // of GitHub alone: User, Bot or Organization
}

func (w wireIssue) issue() Issue {
	i := Issue{
		Number: w.Number, Title: w.Title, Body: w.Body, Author: w.User.Login, Open: w.State == "open", Locked: w.Locked || w.IsLocked, IsPull: w.PullRequest != nil,
	}
	for _, l := range w.Labels {
		i.Labels = append(i.Labels, l.Name)
	}
	return i
}

// Issue asks for an issue.
func (c *Client) Issue(ctx context.Context, number int) (Issue, error) {
	var w wireIssue
	err := c.call(ctx, http.MethodGet, issuePath(number), nil, &w)
	return w.issue(), err
}

func issuePath(number int) string { return fmt.Sprintf("/issues/%d", number) }

// MayWrite reports whether an account may write to the repository. One that the server does not know may not.
func (c *Client) MayWrite(ctx context.Context, account string) (bool, error) {
	var out struct {
		Permission string `json:"permission"`
	}
	err := c.call(ctx, http.MethodGet, "/collaborators/"+url.PathEscape(account)+"/permission", nil, &out)
	switch {
	case isCode(err, http.StatusNotFound):
		return false, nil
	case c.server.Kind == Gitea && isCode(err, http.StatusForbidden):
		return false, &Error{Code: http.StatusForbidden, Message: "Gitea tells only an administrator of the repository who may write: make the token's account one"}
	}
	switch out.Permission {
	case "admin", "maintain", "write", "owner":
		return err == nil, err
	}
	return false, err
}

type wireComment struct {
	ID        int64     `json:"id"`
	Body      string    `json:"body"`
	User      user      `json:"user"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// Of GitHub alone:
	Association string    `json:"author_association"`
	ByApp       *struct{} `json:"performed_via_github_app"` // in the name of the author
}

// SetComment makes the text the only comment of the token's account on an issue that has the marker: it edits the one
// that is there, or makes it. The text has the marker. A comment of another account with the marker stays as it is.
func (c *Client) SetComment(ctx context.Context, issue int, marker, text string) error {
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	found, err := c.findComment(ctx, issue, me, marker)
	switch {
	case err != nil:
		return err
	case found == nil:
		return c.call(ctx, http.MethodPost, issuePath(issue)+"/comments", map[string]string{"body": text}, nil)
	case found.Body == text:
		return nil
	}
	return c.call(ctx, http.MethodPatch, fmt.Sprintf("/issues/comments/%d", found.ID), map[string]string{"body": text}, nil)
}

// findComment returns the first comment of an account that has the marker; nil: none.
func (c *Client) findComment(ctx context.Context, issue int, by, marker string) (found *wireComment, err error) {
	err = pages(ctx, c, issuePath(issue)+"/comments", func(page []wireComment) int {
		for _, w := range page {
			if strings.EqualFold(w.User.Login, by) && strings.Contains(w.Body, marker) {
				found = &w
				return 0 // no more
			}
		}
		return len(page)
	})
	return found, err
}

// perPage is the length of a page of a list.
const perPage = 100
