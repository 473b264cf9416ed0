package forge

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Pull asks for a pull request.
func (c *Client) Pull(ctx context.Context, number int) (Pull, error) {
	var w wirePull
	err := c.call(ctx, http.MethodGet, pullPath(number), nil, &w)
	return c.pullOf(w), err
}

func pullPath(number int) string { return fmt.Sprintf("/pulls/%d", number) }

// Review is a review of a pull request. Body is other people's words.
type Review struct {
	ID     int64
	Author string // account
	Bot    bool   // it says itself that it is one; Gitea does not say
	Member bool   // the server does not rule out that the author may write to the repository
	Commit string // that it is about
	State  ReviewState
	Body   string
	At     time.Time
	// Official is Gitea's word that the author could write when the review was made. GitHub has none.
	Official bool
}

// ReviewState is what a review says.
type ReviewState string

// The states.
const (
	Approves  ReviewState = "approved"
	Requests  ReviewState = "changes_requested"
	Comments  ReviewState = "commented"
	Withdrawn ReviewState = "dismissed" // or not yet sent
)

type wireReview struct {
	ID          int64     `json:"id"`
	User        user      `json:"user"`
	Body        string    `json:"body"`
	State       string    `json:"state"`
	CommitID    string    `json:"commit_id"`
	Dismissed   bool      `json:"dismissed"`          // Gitea
	Official    bool      `json:"official"`           // Gitea
	Association string    `json:"author_association"` // GitHub
	SubmittedAt time.Time `json:"submitted_at"`
}

// associations are GitHub's words for those who may have the right to write.
var associations = map[string]bool{"": true, "OWNER": true, "MEMBER": true, "COLLABORATOR": true}

func (w wireReview) review() Review {
	r := Review{ID: w.ID, Author: w.User.Login, Bot: w.User.Type == "Bot", Member: associations[w.Association], Commit: w.CommitID, Body: w.Body, State: Withdrawn, At: w.SubmittedAt, Official: w.Official}
	switch strings.ToUpper(w.State) {
	case "APPROVED":
		r.State = Approves
	case "CHANGES_REQUESTED", "REQUEST_CHANGES":
		r.State = Requests
	case "COMMENTED", "COMMENT":
		r.State = Comments
	}
	if w.Dismissed {
		r.State = Withdrawn
	}
	return r
}

// Reviews returns the reviews of a pull request, the oldest first.
func (c *Client) Reviews(ctx context.Context, number int) (list []Review, err error) {
	err = pages(ctx, c, pullPath(number)+"/reviews", func(page []wireReview) int {
		for _, w := range page {
			list = append(list, w.review())
		}
		return len(page)
	})
	return list, err
}

// MayReview reports whether the author of a review may write to the repository. Where Gitea does not report this to the
// token, its word of the review counts.
func (c *Client) MayReview(ctx context.Context, r Review) (bool, error) {
	may, err := c.MayWrite(ctx, r.Author)
	if c.server.Kind == Gitea && isCode(err, http.StatusForbidden) {
		return r.Official, nil
	}
	return may, err
}

// approveForm is the whole text of a comment that approves a commit. Its id is not abbreviated: a run could look for a commit
// whose id begins as that of another.
var approveForm = regexp.MustCompile(`^/approve ([0-9a-f]{40}|[0-9a-f]{64})$`)

// Approvals returns the comments on a pull request that approve a commit, as reviews. One that was edited is none: others
// than its author can edit it.
func (c *Client) Approvals(ctx context.Context, number int) (list []Review, err error) {
	err = pages(ctx, c, issuePath(number)+"/comments", func(page []wireComment) int {
		list = append(list, approvals(page)...)
		return len(page)
	})
	return list, err
}

func approvals(comments []wireComment) (list []Review) {
	for _, w := range comments {
		if m := approveForm.FindStringSubmatch(strings.TrimSpace(w.Body)); m != nil && w.UpdatedAt.Equal(w.CreatedAt) {
			bot := w.User.Type == "Bot" || w.ByApp != nil
			list = append(list, Review{ID: w.ID, Author: w.User.Login, Bot: bot, Member: associations[w.Association], Commit: m[1], State: Approves, At: w.CreatedAt})
		}
	}
	return list
}

// Comment is a comment on a line of a pull request. Body is other people's words.
type Comment struct {
	ID       int64
	Author   string // account
	Path     string
	Line     int // zero: not known
	Body     string
	Resolved bool
}

type wireLineComment struct {
	ID       int64  `json:"id"`
	User     user   `json:"user"`
	Body     string `json:"body"`
	Path     string `json:"path"`
	Line     int    `json:"line"`     // GitHub
	Position int    `json:"position"` // Gitea: the line
	Resolver *user  `json:"resolver"` // Gitea
}

// ReviewComments returns the comments of a review.
func (c *Client) ReviewComments(ctx context.Context, number int, review int64) (list []Comment, err error) {
	err = pages(ctx, c, fmt.Sprintf("%s/reviews/%d/comments", pullPath(number), review), func(page []wireLineComment) int {
		for _, w := range page {
			list = append(list, Comment{ID: w.ID, Author: w.User.Login, Path: w.Path, Line: cmp.Or(w.Line, w.Position), Body: w.Body, Resolved: w.Resolver != nil})
		}
		return len(page)
	})
	if err != nil || len(list) == 0 || c.server.Kind == Gitea {
		return list, err
	}
	resolved, err := c.resolved(ctx, number)
	for i := range list {
		list[i].Resolved = resolved[list[i].ID]
	}
	return list, err
}

// pages reads the pages of a list until one is short. take gets each, and returns how many entries it has.
func pages[P any](ctx context.Context, c *Client, path string, take func(page P) int) error {
	whole := c.server.Kind == Gitea && strings.HasSuffix(path, "/comments") // it has all comments on each page
	for n := 1; n <= maxPages; n++ {
		var page P
		if err := c.call(ctx, http.MethodGet, fmt.Sprintf("%s?per_page=%d&limit=%d&page=%d", path, perPage, perPage, n), nil, &page); err != nil {
			return err
		}
		// Gitea's pages may be shorter than requested.
		if got := take(page); got == 0 || whole || c.server.Kind == GitHub && got < perPage {
			return nil
		}
	}
	return &Error{Code: http.StatusUnprocessableEntity, Message: fmt.Sprintf("%s has more than %d pages", path, maxPages)}
}

// resolved returns the comments of GitHub's threads that are resolved, which only its GraphQL API reports.
func (c *Client) resolved(ctx context.Context, number int) (map[int64]bool, error) {
	var out struct {
		Repository struct {
			PullRequest struct {
				ReviewThreads struct {
					Nodes []struct {
						IsResolved bool `json:"isResolved"`
						Comments   struct {
							Nodes []struct {
								ID int64 `json:"databaseId"`
							} `json:"nodes"`
						} `json:"comments"`
					} `json:"nodes"`
				} `json:"reviewThreads"`
			} `json:"pullRequest"`
		} `json:"repository"`
	}
	const query = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { pullRequest(number: $number) { " +
		"reviewThreads(last: 100) { nodes { isResolved comments(first: 100) { nodes { databaseId } } } } } } }"
	if err := c.graphQL(ctx, query, map[string]any{"owner": c.repo.Owner, "name": c.repo.Name, "number": number}, &out); err != nil {
		return nil, err
	}
	found := map[int64]bool{}
	for _, thread := range out.Repository.PullRequest.ReviewThreads.Nodes {
		for _, comment := range thread.Comments.Nodes {
			found[comment.ID] = thread.IsResolved
		}
	}
	return found, nil
}
