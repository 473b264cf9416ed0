package intake_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/intake"
)

// rigid is an agent that cannot be steered.
type rigid struct{ agent.Session }

// supple is one that can.
type supple struct {
	rigid
	err  error
	took []string
}

func (s *supple) Steer(_ context.Context, text string) error {
	if s.err == nil {
		s.took = append(s.took, text)
	}
	return s.err
}

func TestSend(t *testing.T) {
	lost := errors.New("the process died")
	for _, row := range []struct {
		name    string
		session agent.Session
		mode    dispatch.Mode
		closed  bool
		want    dispatch.Delivery
		err     error
		waits   bool
	}{
		{"after the turn", &supple{}, dispatch.FollowUp, false, dispatch.Followed, nil, true},
		{"into the turn", &supple{}, dispatch.Steer, false, dispatch.Steered, nil, false},
		{"into no turn", &supple{err: agent.ErrNoTurn}, dispatch.Steer, false, dispatch.Followed, nil, true},
		{"into a turn that refuses it", &supple{err: &failure.Error{Message: "no"}}, dispatch.Steer, false, dispatch.Followed, nil, true},
		{"into who may have it", &supple{err: lost}, dispatch.Steer, false, "", controlsocket.ErrUncertain, false},
		{"into who cannot be steered", rigid{}, dispatch.Steer, false, dispatch.Followed, nil, true},
		{"to who is closed", &supple{}, dispatch.FollowUp, true, "", controlsocket.ErrNotReady, false},
		{"into who is closed", &supple{}, dispatch.Steer, true, "", controlsocket.ErrNotReady, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			steer, _ := row.session.(agent.Steerer)
			in := intake.New(intake.Options{Steer: steer})
			if row.closed {
				in.Close()
			}
			as, err := in.Send(t.Context(), controlsocket.Message{Text: "hi", Mode: row.mode})
			if !errors.Is(err, row.err) || err == nil && as != row.want {
				t.Errorf("%q, %v", as, err)
			}
			if m, ok := in.Next(); ok != row.waits || ok && m.Text != "hi" {
				t.Errorf("%q waits: %v", m.Text, ok)
			}
			if s, ok := row.session.(*supple); ok && (len(s.took) == 1) != (row.want == dispatch.Steered && err == nil) {
				t.Errorf("the turn took %q", s.took)
			}
		})
	}
}

// Messages have their turns in their order, at most so many wait, and after the
// last none is taken.
func TestTurns(t *testing.T) {
	in := intake.New(intake.Options{Dir: "/w", Model: &controlsocket.Model{ID: "m"}, End: func(context.Context) error { return errors.New("mine") }})
	in.SetID("20260612T093000-0a1b2c")
	send := func(text string) error {
		_, err := in.Send(t.Context(), controlsocket.Message{Text: text, Mode: dispatch.FollowUp})
		return err
	}
	for _, text := range []string{"a", "b"} {
		if err := send(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a", "b", "c"} {
		if want == "b" { // between turns
			if err := send("c"); err != nil {
				t.Fatal(err)
			}
		}
		if m, ok := in.Next(); !ok || m.Text != want {
			t.Errorf("%q, want %q", m.Text, want)
		}
	}
	for n := range 33 {
		if err := send("x"); (err != nil) != (n == 32) {
			t.Errorf("the message %d: %v", n+1, err)
		}
	}
	if left := in.Close(); len(left) != 32 {
		t.Errorf("%d are left", len(left))
	}
	for range 32 {
		in.Next()
	}
	if m, ok := in.Next(); ok || !errors.Is(send("late"), controlsocket.ErrNotReady) {
		t.Errorf("%q after the last", m.Text)
	}
	in.SetLastMessage("done")
	if m, err := in.LastMessage(t.Context()); err != nil || m.Content != "done" || m.Role != "assistant" || m.Timestamp == 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if info, err := in.Info(t.Context()); err != nil || info.SessionID != "20260612T093000-0a1b2c" || info.CWD != "/w" || info.Model.ID != "m" || info.Idle {
		t.Errorf("%+v, %v", info, err)
	}
	if err := in.Abort(t.Context()); err == nil || err.Error() != "mine" {
		t.Errorf("abort: %v", err)
	}
}

// Finding D10.
func TestWhatIsParkedTakesNothing(t *testing.T) {
	for _, mode := range []dispatch.Mode{dispatch.FollowUp, dispatch.Steer} {
		in := intake.New(intake.Options{Steer: &supple{}})
		send := func() error {
			_, err := in.Send(t.Context(), controlsocket.Message{Text: "hi", Mode: mode})
			return err
		}
		in.Park()
		if err := send(); !errors.Is(err, controlsocket.ErrNotReady) {
			t.Errorf("%s while it is parked: %v", mode, err)
		}
		in.Unpark()
		if err := send(); err != nil {
			t.Errorf("%s afterwards: %v", mode, err)
		}
		in.Close()
		in.Park()
		in.Unpark()
		if err := send(); !errors.Is(err, controlsocket.ErrNotReady) {
			t.Errorf("%s after the end: %v", mode, err)
		}
	}
}
