// Package notify notifies people about runs: by a program of the worker's operator, or by a webhook. Program and address
// are configured at the worker. A run only names the channels.
package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Config says where notices go.
type Config struct {
	Command string        // for sh -c; empty: none
	Webhook string        // URL; empty: none
	Secret  notify.Secret // of the webhook
	// Link returns the address of what a notice is about on the review page; nil or empty: none.
	Link func(notify.Notice) string
	// Answers returns the addresses that decide what a notice asks for; nil or empty: there are none.
	Answers func(notify.Notice) []notify.Answer
	// Environ is the environment of the command.
	Environ []string
	// Redact removes the worker's secrets from a text.
	Redact func(string) string
}

// Channels returns the channels that lead somewhere.
func (c Config) Channels() (list []run.Channel) {
	if c.Command != "" {
		list = append(list, run.CommandChannel)
	}
	if c.Webhook != "" {
		list = append(list, run.WebhookChannel)
	}
	return list
}

// Activities are the activities of notices.
type Activities struct {
	config Config
	client *http.Client
}

// Patience bounds one attempt.
const Patience = 30 * time.Second

// New returns the activities.
func New(c Config) *Activities {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Activities{config: c, client: &http.Client{
		Transport: transport, Timeout: Patience,
		// A redirect would lead the notice to a place that the operator has not named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// SendInput is one notice by one channel.
type SendInput struct {
	Channel run.Channel   `json:"channel"`
	Notice  notify.Notice `json:"notice"`
}

// RefusedError is the type of an error that no retry fixes.
const RefusedError = "NoticeRefused"

// SendNotice delivers a notice by a channel. A second call delivers it again, with the same id. A channel that the worker does
// not have delivers nothing, without an error.
func (a *Activities) SendNotice(ctx context.Context, in SendInput) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	n, link := in.Notice, ""
	var answers []notify.Answer
	if a.config.Answers != nil {
		answers = a.config.Answers(n)
	}
	if a.config.Link != nil {
		link = a.config.Link(n)
	}
	if a.config.Redact != nil {
		n.Goal = a.config.Redact(n.Goal)
	}
	n = n.ClipGoal()
	switch {
	case in.Channel == run.CommandChannel && a.config.Command != "":
		return a.runCommand(ctx, n, link, answers)
	case in.Channel == run.WebhookChannel && a.config.Webhook != "":
		return a.postWebhook(ctx, n, link, answers)
	}
	return nil
}

// runCommand calls the operator's program. It gets the notice in variables and on standard input, never in the command
// line, where a shell would read it.
func (a *Activities) runCommand(ctx context.Context, n notify.Notice, link string, answers []notify.Answer) error {
	body, err := n.Body(link, answers...)
	if err != nil {
		return err
	}
	env := append(append([]string{}, a.config.Environ...),
		"RATCHET_NOTICE="+string(n.Kind), "RATCHET_NOTICE_ID="+n.ID, "RATCHET_RUN_ID="+string(n.RunID), "RATCHET_RUN="+string(n.Name), "RATCHET_SESSION="+n.Session,
		"RATCHET_TITLE="+n.Title(), "RATCHET_TEXT="+n.Goal, "RATCHET_LINK="+link, "RATCHET_ACTIONS="+notify.NtfyActions(answers))
	return a.startProgram(ctx, env, bytes.NewReader(append(body, '\n')), "/bin/sh", "-c", a.config.Command)
}

// startProgram runs a program outside of the box: it is the operator's or the system's, and no run has chosen it.
func (a *Activities) startProgram(ctx context.Context, env []string, in io.Reader, argv ...string) error {
	said := proc.NewHeadTail(0, keptOutput)
	res, err := proc.Run(ctx, proc.Command{Argv: argv, Dir: "/", Env: env, Stdin: in, Stdout: said, Stderr: said})
	switch {
	case err != nil:
		return err
	case res.ExitCode != 0:
		return fmt.Errorf("%s ended with exit code %d%s", argv[0], res.ExitCode, a.lastWords(said.RawText()))
	}
	return nil
}

// The bounds of a failed program's output: the part that is searched for secrets, in bytes, and the part that is reported,
// in characters. The reported part is shorter, so it never holds a piece of a secret that the search cut off.
const (
	keptOutput = 8 << 10
	toldOutput = 300
)

// lastWords returns the end of what a program has said, without secrets, after a colon.
func (a *Activities) lastWords(said string) string {
	if a.config.Redact != nil {
		said = a.config.Redact(said)
	}
	words := []rune(display.Line(strings.Join(strings.Fields(said), " ")))
	if len(words) == 0 {
		return ""
	}
	return ": " + string(words[max(0, len(words)-toldOutput):])
}

// postWebhook sends the signed webhook. It reads nothing of the answer but its code and Retry-After.
func (a *Activities) postWebhook(ctx context.Context, n notify.Notice, link string, answers []notify.Answer) error {
	body, err := n.Body(link, answers...)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.Webhook, bytes.NewReader(body))
	if err != nil {
		return refuse(errors.New("the URL of the webhook cannot be used"))
	}
	now := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ratchet")
	req.Header[notify.HeaderID] = []string{n.ID}
	req.Header[notify.HeaderTimestamp] = []string{notify.Timestamp(now)}
	req.Header[notify.HeaderSignature] = []string{a.config.Secret.Sign(n.ID, now, body)}
	resp, err := a.client.Do(req)
	if err != nil {
		return errors.New("the webhook cannot be reached: " + reasonOf(err))
	}
	defer resp.Body.Close()
	return judgeResponse(resp)
}

// judgeResponse returns nil for a code of success. A receiver that is gone is not called again.
func judgeResponse(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusGone:
		return refuse(errors.New("the webhook is gone: it answered 410"))
	case code >= 300 && code < 400:
		return fmt.Errorf("the webhook answered %d: redirects are not followed", code)
	default:
		err := fmt.Errorf("the webhook answered %d", code)
		if wait := readRetryAfter(resp.Header.Get("Retry-After"), time.Now()); wait > 0 {
			return temporal.NewApplicationErrorWithOptions(err.Error(), "NoticeLater", temporal.ApplicationErrorOptions{NextRetryDelay: wait})
		}
		return err
	}
}

// maxRetryAfter bounds the wait that a receiver asks for: a notice is tried for a day.
const maxRetryAfter = time.Hour

// readRetryAfter reads a number of seconds or a date. It returns zero for what it cannot read, and for a date that has
// passed.
func readRetryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func refuse(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), RefusedError, nil)
}

// reasonOf returns the cause of a failed request without the URL, which may hold a token of the receiver's.
func reasonOf(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
