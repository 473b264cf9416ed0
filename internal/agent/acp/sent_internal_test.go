package acp

import (
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

// An agent that answers a prompt before it has read it ends the turn; the rest of the prompt is written in the next one.
// A panic would end the worker.
func TestAPromptThatIsWrittenAfterItsTurn(t *testing.T) {
	s := &session{}
	s.noteSent(sdk.AgentMethodSessionPrompt) // no turn is in progress
	s.turn = newTurn()
	for range 2 { // that of the turn before, and its own
		s.noteSent(sdk.AgentMethodSessionPrompt)
	}
	select {
	case <-s.turn.sent:
	default:
		t.Error("the turn is not sent")
	}
}
