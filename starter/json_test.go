package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// TestJSONHasNothingInItThatATerminalObeys. Finding B13.
func TestJSONHasNothingInItThatATerminalObeys(t *testing.T) {
	var out bytes.Buffer
	const goal = "a \u009b31m \u202e b \u2066 c \u2800 d <e> & \x1b[2J"
	if err := newFactory(console.Console{Out: &out}).PrintJSON(map[string]string{"goal": goal}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\u009b\u202e\u2066\u2800\x1b") || !strings.Contains(out.String(), "<e> &") {
		t.Errorf("printed %q", out.String())
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["goal"] != goal {
		t.Errorf("it means %q, %v", back["goal"], err)
	}
}
