package forge

import (
	"context"
	"fmt"
	"strings"
)

// Labeling says who has set a label on an issue, and whether the issue's text has changed since.
type Labeling struct {
	By     string // account; empty: the label is not set
	Bot    bool   // it says itself that it is one
	Edited bool   // title or text, after that. Gitea does not report changes of the text
}

type wireIssueEvent struct {
	Event string `json:"event"` // GitHub
	Actor user   `json:"actor"`
	Type  string `json:"type"` // Gitea
	User  user   `json:"user"`
	Body  string `json:"body"` // Gitea: 1 for a label that is set
	Label struct {
		Name string `json:"name"`
	} `json:"label"`
	CreatedAt string `json:"created_at"`
}

// Labeling asks for the last time that somebody has set a label on an issue which it still has.
func (c *Client) Labeling(ctx context.Context, issue int, label string) (l Labeling, err error) {
	path, at := issuePath(issue)+"/events", ""
	if c.server.Kind == Gitea {
		path = issuePath(issue) + "/timeline"
	}
	err = pages(ctx, c, path, func(page []wireIssueEvent) int {
		for _, e := range page {
			switch named := strings.EqualFold(e.Label.Name, label); {
			case named && e.Event == "labeled":
				l, at = Labeling{By: e.Actor.Login, Bot: e.Actor.Type == "Bot"}, e.CreatedAt
			case named && e.Type == "label" && e.Body == "1":
				l = Labeling{By: e.User.Login}
			case named && (e.Event == "unlabeled" || e.Type == "label"):
				l = Labeling{}
			case e.Event == "renamed", e.Type == "change_title":
				l.Edited = true
			}
		}
		return len(page)
	})
	if err != nil || l.By == "" || c.server.Kind == Gitea {
		return l, err
	}
	edited, err := c.lastEdited(ctx, issue)
	l.Edited = l.Edited || edited > at
	return l, err
}

// lastEdited returns when the text of an issue was edited last, as GitHub writes times; empty: never. Only its GraphQL API
// tells.
func (c *Client) lastEdited(ctx context.Context, issue int) (string, error) {
	var out struct {
		Repository struct {
			Issue struct {
				LastEditedAt string `json:"lastEditedAt"`
			} `json:"issue"`
		} `json:"repository"`
	}
	query := fmt.Sprintf("query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { issue(number: %d) { lastEditedAt } } }", issue)
	err := c.graphQL(ctx, query, map[string]any{"owner": c.repo.Owner, "name": c.repo.Name}, &out)
	return out.Repository.Issue.LastEditedAt, err
}
