package hosts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// protocol names, in the TLS handshake, the greeting: one JSON object of the host, one of the door. A connection with
// passThrough, HTTP/2, is one to the engine.
const (
	protocol    = "ratchet-host/1"
	passThrough = "h2"
)

// maxMessage bounds a message of the greeting, and so what the book holds of a host.
const maxMessage = 8 << 10

// Survey is what a host says that it has.
type Survey struct {
	Version  string   `json:"version"`
	System   string   `json:"system"` // such as linux/amd64
	Cores    int      `json:"cores"`
	Sandbox  string   `json:"sandbox"`            // the policy of its worker
	NoBox    string   `json:"noBox,omitempty"`    // why it has no sandbox, and what helps; empty: it has one
	Agents   []string `json:"agents,omitempty"`   // with their versions
	Missing  []string `json:"missing,omitempty"`  // agents that are not installed, or do not work
	Programs []string `json:"programs,omitempty"` // of toolchains
}

// greeting is the message of a host.
type greeting struct {
	Secret []byte    `json:"secret,omitempty"` // of the code; empty: it has joined before
	Name   string    `json:"name"`             // by which it wants to join
	Time   time.Time `json:"time"`             // of its clock
	Survey Survey    `json:"survey"`
}

// Welcome is the answer of the door.
type Welcome struct {
	Error   string    `json:"error,omitempty"` // why the host is not welcome
	Name    string    `json:"name,omitempty"`  // by which the host is known
	Version string    `json:"version,omitempty"`
	Time    time.Time `json:"time"` // of the home machine's clock
	// Namespace is the server's; empty: the default one.
	Namespace string `json:"namespace,omitempty"`
}

// send writes one message.
func send(w io.Writer, message any) error { return json.NewEncoder(w).Encode(message) }

// receive reads one message, which ends with a line feed, and nothing behind it.
func receive(r io.Reader, message any) error {
	b := make([]byte, 0, 512)
	for one := make([]byte, 512); ; {
		n, err := r.Read(one)
		if b = append(b, one[:n]...); len(b) > maxMessage {
			return errors.New("the message is too long")
		}
		if n > 0 && b[len(b)-1] == '\n' {
			return json.Unmarshal(b, message)
		}
		if err != nil {
			return err
		}
	}
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// CheckName refuses what cannot be the name of a host.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("invalid host name %q: want 1 to 63 lower-case letters, digits, dots and dashes", display.Line(name))
	}
	return nil
}

var unnamed = regexp.MustCompile(`[^a-z0-9.-]+`)

// NameOf returns the name that a machine with a hostname has by itself.
func NameOf(hostname string) string {
	name := strings.Trim(unnamed.ReplaceAllString(strings.ToLower(hostname), "-"), ".-")
	if len(name) > 63 || CheckName(name) != nil {
		return "host"
	}
	return name
}

// String says in one line what the host has, and what it lacks.
func (s Survey) String() string {
	parts := []string{fmt.Sprintf("%s, %s", s.System, display.Count(s.Cores, "core", "cores"))}
	switch {
	case s.NoBox != "":
		parts = append(parts, "NO SANDBOX, so it takes no runs that require one")
	case s.Sandbox == "off":
		parts = append(parts, "sandbox off, so it takes only runs with --sandbox off")
	default:
		parts = append(parts, "sandbox")
	}
	for _, list := range []struct {
		name  string
		items []string
	}{{"agents", s.Agents}, {"without", s.Missing}, {"programs", s.Programs}} {
		if len(list.items) > 0 {
			parts = append(parts, list.name+": "+strings.Join(list.items, ", "))
		}
	}
	return display.Line(strings.Join(parts, "; "))
}
