package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// decide is the person of the runs: it reads in their records what they wait
// for and signals the script's decision, once and then once more, as people do
// who are not sure. It returns when ctx ends. A decision that got lost leaves
// its run waiting.
func (s *fixture) decide(ctx context.Context, runs []*scripted) error {
	said := map[string]bool{}
	for {
		for _, r := range runs {
			state, err := s.runs.Run(r.in.RunID).State()
			if r.in.Repository.URL != "" { // its record is on any host
				state, err = query[run.State](s, r.in.RunID, workflows.StateQuery)
			}
			if err != nil {
				continue // not begun, or just being replaced
			}
			if err := s.settle(ctx, r, state, said); err != nil && ctx.Err() == nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *fixture) settle(ctx context.Context, r *scripted, state run.State, said map[string]bool) error {
	id := state.PendingApprovalID + state.PendingQuestionID
	if id == "" || said[string(r.in.RunID)+id] {
		return nil
	}
	said[string(r.in.RunID)+id] = true
	if state.PendingQuestionID != "" && r.mend != nil {
		events, err := s.runs.Run(r.in.RunID).Events()
		if err != nil {
			return err
		}
		if err := r.mend(lastQuestion(events)); err != nil {
			return err
		}
	}
	name, message := workflows.AnswerMessage, any(run.Reply{QuestionID: id, Text: "the first"})
	if state.PendingApprovalID != "" {
		d := run.Decision{ApprovalID: id, Decision: run.Approve, By: "test"}
		if slices.Contains(r.refused, state.Iteration) {
			d.Decision, d.Reason = run.Reject, "wrong line"
		}
		of := fmt.Sprintf("%s part of %d", r.in.RunID, state.Iteration)
		if files := r.parts[state.Iteration]; files != nil && !said[of] { // then the part itself waits
			d.Files, d.Reason = files, "the rest is wrong"
			said[of] = true
		}
		name, message = workflows.ApprovalMessage, d
	}
	var errs []error
	for range 2 {
		errs = append(errs, s.signal(ctx, r.in.RunID, name, message))
	}
	return errors.Join(errs...)
}

// lastQuestion returns the question that was asked last.
func lastQuestion(events []run.Event) (question string) {
	for _, e := range events {
		if p, ok := e.Payload.(run.QuestionRaised); ok {
			question = p.Question.Question
		}
	}
	return question
}

func (s *fixture) signal(ctx context.Context, id run.ID, name string, message any) error {
	return s.patiently(ctx, func() error { return s.client.SignalWorkflow(ctx, id.WorkflowID(), "", name, message) })
}

// saysNothing reports whether an error says only that the server did not answer in time, as on a busy machine. A worker
// whose task came too late fails one query, by a state that the server did not take.
func saysNothing(err error) bool {
	if _, failed := errors.AsType[*serviceerror.QueryFailed](err); failed && strings.Contains(err.Error(), "TMPRL1100") {
		return true
	}
	switch serviceerror.ToStatus(err).Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// patiently calls until the server takes it: it may be the one that was killed, or be busy.
func (s *fixture) patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || !s.flaky && !saysNothing(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// decided runs decide beside the test until the returned function is called.
func (s *fixture) decided(t testing.TB, runs []*scripted) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.decide(ctx, runs) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("decide: %v", err)
		}
	}
}
