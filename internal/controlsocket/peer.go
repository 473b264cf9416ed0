package controlsocket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// refusal is an error in the words that peers know.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	missingMessage = refusal("Missing message")
	notReady       = refusal("Session not ready")
)

// peer is one connection.
type peer struct {
	conn    *net.UnixConn
	session Session
	limits  limits
	writing sync.Mutex

	mu  sync.Mutex
	end time.Time // of all writing; zero until the server closes
}

// servePeer carries out the commands of a connection, several at a time, until the connection ends or
// stays silent, or ctx ends. Commands in progress still answer.
func servePeer(ctx context.Context, p *peer) {
	defer p.conn.Close()
	defer context.AfterFunc(ctx, p.closeSoon)()
	var busy sync.WaitGroup
	defer busy.Wait()
	slots := make(chan struct{}, maxCommands)
	lines := bufio.NewScanner(p.conn)
	lines.Buffer(nil, maxLine)
	p.awaitCommand(p.limits.First)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		line := bytes.Clone(lines.Bytes())
		slots <- struct{}{}
		p.awaitCommand(p.limits.Patience)
		busy.Go(func() {
			defer func() { <-slots }()
			p.handleLine(ctx, line)
		})
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.writeAnswer(answer{Command: parseCommand, Error: "the line is too long"})
	}
}

// awaitCommand starts the time that the peer has for its next command. Blank lines do not renew it.
func (p *peer) awaitCommand(d time.Duration) { _ = p.conn.SetReadDeadline(time.Now().Add(d)) }

// stopReading ends the reading, but not the answers.
func (p *peer) stopReading() { _ = p.conn.CloseRead() }

// closeSoon ends the reading at once and the answers soon after, including an answer that is being
// written.
func (p *peer) closeSoon() {
	defer p.stopReading()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = time.Now().Add(p.limits.Farewell)
	_ = p.conn.SetWriteDeadline(p.end)
}

// limitWrite starts the time that the peer has to read an answer.
func (p *peer) limitWrite() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end.IsZero() {
		_ = p.conn.SetWriteDeadline(time.Now().Add(p.limits.Patience))
	}
}

// answer is a response as a server writes it.
type answer struct {
	Type    string          `json:"type"`
	Command string          `json:"command"`
	Success bool            `json:"success"`
	Data    any             `json:"data,omitempty"`
	Error   string          `json:"error,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
}

// writeAnswer writes a line. It hangs up on a peer that does not read the line in time.
func (p *peer) writeAnswer(a answer) {
	a.Type = responseType
	line, err := json.Marshal(a)
	if err != nil {
		p.conn.Close()
		return
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	p.limitWrite()
	if _, err := p.conn.Write(append(line, '\n')); err != nil {
		p.conn.Close()
	}
}

func (p *peer) handleLine(ctx context.Context, line []byte) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(line, &members)
	command, ok := decodeText(members["type"])
	a := answer{Command: command, ID: echoID(members["id"])}
	switch {
	case err != nil:
		a.Command, a.Error = parseCommand, "Failed to parse command: "+err.Error()
	case !ok:
		a.Command, a.Error = parseCommand, "Missing command type"
	default:
		a.Data, err = p.runCommand(ctx, command, members)
		if errors.Is(err, ErrUncertain) {
			p.stopReading()
			return
		}
		a.Success, a.Error = err == nil, inWords(err)
	}
	p.writeAnswer(a)
}

// echoID keeps an id that a peer can tell from others: a string or a number.
func echoID(id json.RawMessage) json.RawMessage {
	if len(id) > 0 && strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		return id
	}
	return nil
}

func inWords(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrNotReady):
		return notReady.Error()
	}
	return err.Error()
}

func (p *peer) runCommand(ctx context.Context, command string, members map[string]json.RawMessage) (any, error) {
	switch command {
	case sendCommand:
		return p.sendMessage(ctx, members)
	case infoCommand:
		return dataUnlessError(p.session.Info(ctx))
	case getMessageCommand:
		m, err := p.session.LastMessage(ctx)
		return dataUnlessError(messageData{m}, err)
	case abortCommand:
		return nil, p.session.Abort(ctx)
	}
	return nil, refusal("Unknown command: " + command)
}

// dataUnlessError returns no data together with an error.
func dataUnlessError[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (p *peer) sendMessage(ctx context.Context, members map[string]json.RawMessage) (any, error) {
	m, err := messageOf(members)
	if err != nil {
		return nil, err
	}
	as, err := p.session.Send(ctx, m)
	return dataUnlessError(sendData{DeliveredAs: as, WantsReply: m.WantsReply}, err)
}

func messageOf(members map[string]json.RawMessage) (m Message, err error) {
	m.Text, _ = decodeText(members["message"])
	if strings.TrimSpace(m.Text) == "" {
		return Message{}, missingMessage
	}
	if m.Mode, err = modeOf(members["mode"]); err != nil {
		return Message{}, err
	}
	if m.Sender, err = senderOf(members["sender"]); err != nil {
		return Message{}, err
	}
	m.WantsReply = string(members["wants_reply"]) == "true"
	return m, nil
}

func modeOf(raw json.RawMessage) (dispatch.Mode, error) {
	if raw == nil || string(raw) == "null" {
		return dispatch.Steer, nil
	}
	var mode dispatch.Mode
	if err := json.Unmarshal(raw, &mode); err != nil {
		return "", refusal("Invalid mode: steer or follow_up")
	}
	return mode, nil
}

// senderOf reads an envelope. It drops members that do not belong to an envelope. A member that is
// not a string counts as missing.
func senderOf(raw json.RawMessage) (*dispatch.Sender, error) {
	if raw == nil {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, refusal("Invalid sender: not an object")
	}
	var s dispatch.Sender
	s.SessionID, _ = decodeText(members["sessionId"])
	s.AgentID, _ = decodeText(members["agentId"])
	s.CWD, _ = decodeText(members["cwd"])
	s.Timestamp, _ = decodeText(members["timestamp"])
	if missing := s.Missing(); missing != nil {
		return nil, refusal("Invalid sender: missing " + strings.Join(missing, ", "))
	}
	origin, _ := decodeText(members["origin"])
	s.Origin = dispatch.Origin(origin)
	if r := string(members["replyable"]); r == "true" || r == "false" {
		replyable := r == "true"
		s.Replyable = &replyable
	}
	return &s, nil
}
