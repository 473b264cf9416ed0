package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// actionsApp is the app by which GitHub's own continuous integration sets checks. The number of such a check is its job's.
const actionsApp = "github-actions"

// maxLog bounds the bytes of a log that are read to find its end.
const maxLog = 64 << 20

// LogTail returns the last bytes of the log of a failed check of a commit, at most size; empty: the server has none. It
// asks the server's own API alone, never an address that a check names.
func (c *Client) LogTail(ctx context.Context, commit string, check Check, size int) (string, error) {
	job := check.Job
	if c.server.Kind == Gitea {
		var err error
		if job, err = c.findJob(ctx, commit, check.Name); err != nil {
			return "", err
		}
	}
	if job == 0 {
		return "", nil
	}
	text, err := c.readTail(ctx, fmt.Sprintf("/actions/jobs/%d/logs", job), size)
	if isCode(err, http.StatusNotFound, http.StatusGone) { // it has expired, or the server keeps none
		return "", nil
	}
	return text, err
}

// findJob returns the number of the failed job of Gitea's own continuous integration whose status has a name such as
// "build.yml / test (push)"; zero: it is none.
func (c *Client) findJob(ctx context.Context, commit, status string) (int64, error) {
	var runs struct {
		Runs []struct {
			ID      int64  `json:"id"`
			HeadSHA string `json:"head_sha"`
		} `json:"workflow_runs"`
	}
	err := c.call(ctx, http.MethodGet, "/actions/runs?head_sha="+url.QueryEscape(commit), nil, &runs)
	if isCode(err, http.StatusNotFound, http.StatusForbidden) { // an old version, or the repository does not use it
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, r := range runs.Runs[:min(len(runs.Runs), 10)] {
		var jobs struct {
			Jobs []struct {
				ID         int64  `json:"id"`
				Name       string `json:"name"`
				Conclusion string `json:"conclusion"`
			} `json:"jobs"`
		}
		if r.HeadSHA != commit {
			continue
		}
		if err := c.call(ctx, http.MethodGet, fmt.Sprintf("/actions/runs/%d/jobs", r.ID), nil, &jobs); err != nil {
			return 0, err
		}
		for _, j := range jobs.Jobs {
			if j.Conclusion == "failure" && (status == j.Name || strings.Contains(status, " / "+j.Name+" (")) {
				return j.ID, nil
			}
		}
	}
	return 0, nil
}

// readTail reads the end of a text. GitHub answers with the address of its storage, which gets no token.
func (c *Client) readTail(ctx context.Context, path string, size int) (string, error) {
	req, err := c.newRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", &Error{Err: withoutURL(err)}
	}
	defer resp.Body.Close()
	c.reportAnswer(resp.StatusCode)
	if resp.StatusCode == http.StatusFound || resp.StatusCode == http.StatusTemporaryRedirect {
		to, err := resp.Location()
		if err != nil || to.Scheme != "https" && !(strings.HasPrefix(c.server.URL, "http:") && isLoopback(to.Hostname())) {
			return "", &Error{Code: resp.StatusCode, Message: "the log is at an address that is not encrypted"}
		}
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil); err != nil {
			return "", err
		}
		stored, err := c.http.Do(req)
		if err != nil {
			return "", &Error{Err: withoutURL(err)}
		}
		defer stored.Body.Close()
		resp = stored
	}
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		return "", answerError(resp, b)
	}
	tail := tail{size: size}
	if _, err := io.Copy(&tail, io.LimitReader(resp.Body, maxLog)); err != nil {
		return "", &Error{Err: errors.New("the log was cut off")}
	}
	return string(tail.text), nil
}

// tail keeps the last bytes of what is written to it.
type tail struct {
	size int
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if over := len(t.text) - t.size; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}
