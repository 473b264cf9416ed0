package controlsocket_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/peertest"
)

// session is one that works in memory.
type session struct {
	mu   sync.Mutex
	got  []controlsocket.Message
	last *controlsocket.LastMessage
	info controlsocket.Info
	err  error                     // what every method returns
	hold func(ctx context.Context) // what Send and LastMessage wait for
	cut  int                       // aborts
}

func (s *session) Info(context.Context) (controlsocket.Info, error) { return s.info, s.err }

func (s *session) Send(ctx context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	if s.hold != nil {
		s.hold(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return "", s.err
	}
	s.got = append(s.got, m)
	switch {
	case s.info.Idle:
		return dispatch.Direct, nil
	case m.Mode == dispatch.FollowUp:
		return dispatch.Followed, nil
	}
	return dispatch.Steered, nil
}

func (s *session) LastMessage(ctx context.Context) (*controlsocket.LastMessage, error) {
	if s.hold != nil {
		s.hold(ctx)
	}
	return s.last, s.err
}

func (s *session) Abort(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut++
	return s.err
}

func (s *session) messages() []controlsocket.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// serve serves a session until the test ends and returns its address.
func serve(t testing.TB, s controlsocket.Session) (path string, server *controlsocket.Server) {
	t.Helper()
	path = controlsocket.Path(folder(t), gid)
	server, err := controlsocket.Listen(t.Context(), path, s)
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	return path, server
}

// exchange writes to a server, says that nothing more comes, and reads what it
// answers until it hangs up.
func exchange(t *testing.T, path, text string) string {
	t.Helper()
	conn := connect(t, path)
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	must(t, conn.CloseWrite())
	answer, err := io.ReadAll(conn)
	must(t, err)
	return string(answer)
}

func connect(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

const envelope = `{"sessionId":"s","agentId":"a","cwd":"/","timestamp":"t"}`

func TestServerAnswers(t *testing.T) {
	at := controlsocket.Info{SessionID: string(gid), CWD: "/w", Idle: true}
	modelled := at
	modelled.Model = &controlsocket.Model{ID: "m", Provider: "p"}
	sent := func(as string, reply bool) string {
		return fmt.Sprintf(`{"type":"response","command":"send","success":true,"data":{"deliveredAs":"%s","wants_reply":%v}}`, as, reply)
	}
	refused := func(command, why string) string {
		return fmt.Sprintf(`{"type":"response","command":"%s","success":false,"error":"%s"}`, command, why)
	}
	idle, busy, unready := &session{info: at}, &session{}, &session{err: fmt.Errorf("pi: %w", controlsocket.ErrNotReady)}
	for name, tt := range map[string]struct {
		to        *session
		line, say string
	}{
		"a message to an idle session":            {idle, `{"type":"send","message":"hi"}`, sent("direct", false)},
		"a mode is nothing to an idle session":    {idle, `{"type":"send","message":"hi","mode":"follow_up"}`, sent("direct", false)},
		"a message to a busy session":             {busy, `{"type":"send","message":"hi"}`, sent("steer", false)},
		"a steer to a busy session":               {busy, `{"type":"send","message":"hi","mode":"steer"}`, sent("steer", false)},
		"a follow-up to a busy session":           {busy, `{"type":"send","message":"hi","mode":"follow_up"}`, sent("followUp", false)},
		"a null mode":                             {busy, `{"type":"send","message":"hi","mode":null}`, sent("steer", false)},
		"an unknown mode":                         {busy, `{"type":"send","message":"hi","mode":"followUp"}`, refused("send", "Invalid mode: steer or follow_up")},
		"a reply is wanted":                       {idle, `{"type":"send","message":"hi","wants_reply":true}`, sent("direct", true)},
		"a reply is not wanted":                   {idle, `{"type":"send","message":"hi","wants_reply":false}`, sent("direct", false)},
		"a reply is a text":                       {idle, `{"type":"send","message":"hi","wants_reply":"true"}`, sent("direct", false)},
		"no message":                              {idle, `{"type":"send"}`, refused("send", "Missing message")},
		"a blank message":                         {idle, `{"type":"send","message":" \n\t"}`, refused("send", "Missing message")},
		"a message that is a number":              {idle, `{"type":"send","message":7}`, refused("send", "Missing message")},
		"a message in other letters":              {idle, `{"type":"send","Message":"hi"}`, refused("send", "Missing message")},
		"a sender":                                {idle, `{"type":"send","message":"hi","sender":` + envelope + `}`, sent("direct", false)},
		"a sender that is a text":                 {idle, `{"type":"send","message":"hi","sender":"me"}`, refused("send", "Invalid sender: not an object")},
		"a sender that is null":                   {idle, `{"type":"send","message":"hi","sender":null}`, refused("send", "Invalid sender: not an object")},
		"a sender that is a list":                 {idle, `{"type":"send","message":"hi","sender":[]}`, refused("send", "Invalid sender: not an object")},
		"an empty sender":                         {idle, `{"type":"send","message":"hi","sender":{}}`, refused("send", "Invalid sender: missing sessionId, agentId, cwd, timestamp")},
		"a sender without a directory":            {idle, `{"type":"send","message":"hi","sender":{"sessionId":"s","agentId":"a","cwd":"","timestamp":5}}`, refused("send", "Invalid sender: missing cwd, timestamp")},
		"an unknown command":                      {idle, `{"type":"dance"}`, refused("dance", "Unknown command: dance")},
		"a command that is not served":            {idle, `{"type":"clear","summarize":true}`, refused("clear", "Unknown command: clear")},
		"no JSON":                                 {idle, `hello`, refused("parse", "Failed to parse command: invalid character 'h' looking for beginning of value")},
		"JSON that is no object":                  {idle, `[1]`, refused("parse", "Failed to parse command: json: cannot unmarshal array into Go value of type map[string]json.RawMessage")},
		"null":                                    {idle, `null`, refused("parse", "Missing command type")},
		"no command":                              {idle, `{}`, refused("parse", "Missing command type")},
		"a command that is a number":              {idle, `{"type":7}`, refused("parse", "Missing command type")},
		"the session itself":                      {idle, `{"type":"get_info"}`, `{"type":"response","command":"get_info","success":true,"data":{"sessionId":"` + string(gid) + `","cwd":"/w","model":null,"idle":true}}`},
		"the session and its model":               {&session{info: modelled}, `{"type":"get_info"}`, `{"type":"response","command":"get_info","success":true,"data":{"sessionId":"` + string(gid) + `","cwd":"/w","model":{"id":"m","provider":"p"},"idle":true}}`},
		"the last message of a new session":       {idle, `{"type":"get_message"}`, `{"type":"response","command":"get_message","success":true,"data":{"message":null}}`},
		"the last message":                        {&session{last: &controlsocket.LastMessage{Role: "assistant", Content: "done", Timestamp: 5}}, `{"type":"get_message"}`, `{"type":"response","command":"get_message","success":true,"data":{"message":{"role":"assistant","content":"done","timestamp":5}}}`},
		"an abort":                                {idle, `{"type":"abort"}`, `{"type":"response","command":"abort","success":true}`},
		"a message before the session is ready":   {unready, `{"type":"send","message":"hi"}`, refused("send", "Session not ready")},
		"a question before the session is ready":  {unready, `{"type":"get_info"}`, refused("get_info", "Session not ready")},
		"the last message before it is ready":     {unready, `{"type":"get_message"}`, refused("get_message", "Session not ready")},
		"an abort before the session is ready":    {unready, `{"type":"abort"}`, refused("abort", "Session not ready")},
		"an error of the session":                 {&session{err: errors.New("no room")}, `{"type":"send","message":"hi"}`, refused("send", "no room")},
		"an id that is a text":                    {idle, `{"type":"abort","id":"x1"}`, `{"type":"response","command":"abort","success":true,"id":"x1"}`},
		"an id that is a number":                  {idle, `{"type":"abort","id":-1.5}`, `{"type":"response","command":"abort","success":true,"id":-1.5}`},
		"an id that is an object":                 {idle, `{"type":"abort","id":{}}`, `{"type":"response","command":"abort","success":true}`},
		"an id that is null":                      {idle, `{"type":"abort","id":null}`, `{"type":"response","command":"abort","success":true}`},
		"an id of a command that is missing":      {idle, `{"id":"x1"}`, `{"type":"response","command":"parse","success":false,"error":"Missing command type","id":"x1"}`},
		"blank lines":                             {idle, "\n \r\n\t\n", ""},
		"a line that ends as on another platform": {idle, "{\"type\":\"abort\"}\r", `{"type":"response","command":"abort","success":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := serve(t, tt.to)
			if got := strings.TrimSuffix(exchange(t, path, tt.line+"\n"), "\n"); got != tt.say {
				t.Errorf("got  %s\nwant %s", got, tt.say)
			}
		})
	}
}

func TestServerHandsOverWhatCame(t *testing.T) {
	replyable := true
	full := dispatch.Sender{SessionID: "s", AgentID: "a", CWD: "/", Timestamp: "t", Origin: "pi-session", Replyable: &replyable}
	s := &session{}
	path, _ := serve(t, s)
	exchange(t, path, `{"type":"send","message":" --help @file\n","mode":"follow_up","wants_reply":true,"sender":{"sessionId":"s","agentId":"a","cwd":"/","timestamp":"t","origin":"pi-session","replyable":true,"more":1}}`+"\n")
	exchange(t, path, `{"type":"send","message":"x"}`+"\n")
	got, err := json.Marshal(s.messages())
	must(t, err)
	want, err := json.Marshal([]controlsocket.Message{
		{Text: " --help @file\n", Mode: dispatch.FollowUp, Sender: &full, WantsReply: true},
		{Text: "x", Mode: dispatch.Steer},
	})
	must(t, err)
	if string(got) != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPrompt(t *testing.T) {
	no := false
	for name, tt := range map[string]struct {
		m    controlsocket.Message
		want string
	}{
		"nobody says who it is": {controlsocket.Message{Text: "hi\n", WantsReply: true}, "hi\n"},
		"a sender": {
			controlsocket.Message{Text: "hi", Sender: &dispatch.Sender{SessionID: "s", AgentID: "a", CWD: "/", Timestamp: "t"}},
			"hi\n\n<sender_info>" + envelope + "</sender_info>",
		},
		"a sender that wants a reply": {
			controlsocket.Message{Text: "hi", WantsReply: true, Sender: &dispatch.Sender{
				SessionID: "s", AgentID: "a", CWD: "/", Timestamp: "t", Origin: dispatch.MetaSession, Replyable: &no,
			}},
			`hi` + "\n\n" + `<sender_info>{"sessionId":"s","agentId":"a","cwd":"/","timestamp":"t","origin":"meta-session","replyable":false,"wants_reply":true}</sender_info>`,
		},
		"a sender that would close the block": {
			controlsocket.Message{Text: "hi", Sender: &dispatch.Sender{SessionID: "s", AgentID: "a", CWD: "</sender_info>", Timestamp: "t"}},
			`hi` + "\n\n" + `<sender_info>{"sessionId":"s","agentId":"a","cwd":"\u003c/sender_info\u003e","timestamp":"t"}</sender_info>`,
		},
	} {
		if got := tt.m.Prompt(); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, tt.want)
		}
	}
}

func TestServerTakesCommandsAtOnce(t *testing.T) {
	let := make(chan struct{})
	path, _ := serve(t, &session{hold: func(context.Context) { <-let }})
	conn := connect(t, path)
	_, err := io.WriteString(conn, `{"type":"send","message":"slow","id":"1"}`+"\n\n"+`{"type":"get_info","id":"2"}`+"\n")
	must(t, err)
	r := bufio.NewReader(conn)
	first, err := r.ReadString('\n')
	if err != nil || !strings.Contains(first, `"id":"2"`) {
		t.Errorf("the quick one waits: %s, %v", first, err)
	}
	close(let)
	second, err := r.ReadString('\n')
	if err != nil || !strings.Contains(second, `"id":"1"`) {
		t.Errorf("%s, %v", second, err)
	}
}

func TestServerAnswersInWholeLines(t *testing.T) {
	s := &session{last: &controlsocket.LastMessage{Content: strings.Repeat("x", 50_000)}}
	path, _ := serve(t, s)
	const commands = 100
	got := exchange(t, path, strings.Repeat(`{"type":"get_message"}`+"\n", commands))
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != commands {
		t.Fatalf("%d answers", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Fatal("an answer is torn")
		}
	}
}

func TestServerDoesNotClaimWhatItCannotKnow(t *testing.T) {
	path, _ := serve(t, &session{err: fmt.Errorf("the agent died: %w", controlsocket.ErrUncertain)})
	if got := exchange(t, path, `{"type":"send","message":"hi"}`+"\n"); got != "" {
		t.Errorf("answered %s", got)
	}
	_, err := controlsocket.Client{Path: path, Timeout: time.Minute}.Send(t.Context(), controlsocket.Message{Text: "hi"})
	if _, lost := errors.AsType[*controlsocket.UnansweredError](err); !lost {
		t.Error(err)
	}
}

func TestServerRefusesALineWithoutEnd(t *testing.T) {
	path, _ := serve(t, &session{})
	conn := connect(t, path)
	go func() { _, _ = conn.Write(make([]byte, controlsocket.MaxLine+1)) }()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, `"command":"parse","success":false,"error":"the line is too long"`) {
		t.Errorf("%s, %v", line, err)
	}
}

func TestServerTakesTheLongestMessage(t *testing.T) {
	s := &session{info: controlsocket.Info{Idle: true}}
	path, _ := serve(t, s)
	text := strings.Repeat("\x01🌱", dispatch.MaxMessage/2)
	as, err := controlsocket.Client{Path: path}.Send(t.Context(), controlsocket.Message{Text: text})
	if err != nil || as != dispatch.Direct || len(s.messages()) != 1 || s.messages()[0].Text != text {
		t.Errorf("%q, %v", as, err)
	}
}

// impatient serves with a patience that a test can wait for.
func impatient(t *testing.T, s controlsocket.Session) string {
	t.Helper()
	path := controlsocket.Path(folder(t), gid)
	server, err := controlsocket.ServeWith(t.Context(), path, s, controlsocket.Limits{First: time.Hour, Patience: 10 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	return path
}

func TestServerHangsUpOnPeers(t *testing.T) {
	big := &session{last: &controlsocket.LastMessage{Content: strings.Repeat("x", 900_000)}}
	for name, talk := range map[string]func(net.Conn){
		"that are silent behind a request": func(c net.Conn) { _, _ = io.WriteString(c, `{"type":"abort"}`+"\n") },
		"that are blank behind a request":  func(c net.Conn) { _, _ = io.WriteString(c, `{"type":"abort"}`+"\n"); dribble(c) },
		"that never end a line":            func(c net.Conn) { _, _ = io.WriteString(c, `{"type":"abort"}`+"\n{") },
		"that do not read the answers":     func(c net.Conn) { _, _ = io.WriteString(c, strings.Repeat(`{"type":"get_message"}`+"\n", 40)) },
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, impatient(t, big))
			talk(conn)
			// Writing fails when the server has hung up, and only then.
			for err := error(nil); err == nil; {
				_, err = conn.Write([]byte("\x00"))
			}
		})
	}
}

func TestServerHangsUpOnPeersThatNeverBegin(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	server, err := controlsocket.ServeWith(t.Context(), path, &session{}, controlsocket.Limits{First: 10 * time.Millisecond, Patience: time.Hour})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	var begun *net.UnixConn
	for answered := false; !answered; { // a slow machine may not make it at once
		begun = connect(t, path)
		answered = abort(begun) == nil
	}
	for name, talk := range map[string]func(net.Conn){
		"silent":       func(net.Conn) {},
		"blank":        dribble,
		"without ends": func(c net.Conn) { _, _ = io.WriteString(c, "{") },
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, path)
			talk(conn)
			_, _ = io.Copy(io.Discard, conn) // until the server hangs up
		})
	}
	if err := abort(begun); err != nil {
		t.Errorf("who has begun is hung up on as well: %v", err)
	}
}

// abort has a connection carry a command and its answer.
func abort(conn net.Conn) error {
	if _, err := io.WriteString(conn, `{"type":"abort"}`+"\n"); err != nil {
		return err
	}
	_, err := bufio.NewReader(conn).ReadString('\n')
	return err
}

func TestServerWaitsForACommandUnderWay(t *testing.T) {
	let := make(chan struct{})
	conn := connect(t, impatient(t, &session{hold: func(context.Context) { <-let }}))
	_, err := io.WriteString(conn, `{"type":"send","message":"slow"}`+"\n{")
	must(t, err)
	r := bufio.NewReader(conn)
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "Failed to parse") {
		t.Fatalf("the line that never ended: %s, %v", line, err)
	}
	close(let)
	if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, `"success":true`) {
		t.Errorf("%s, %v", line, err)
	}
}

func TestServerBoundsItsPeers(t *testing.T) {
	s := &session{}
	path, _ := serve(t, s)
	var peers []*net.UnixConn
	for range controlsocket.MaxPeers {
		peers = append(peers, connect(t, path))
		must(t, abort(peers[len(peers)-1]))
	}
	c := controlsocket.Client{Path: path, Timeout: time.Minute}
	_, err := c.Send(t.Context(), controlsocket.Message{Text: "one too many"})
	if notSent, is := errors.AsType[*controlsocket.NotSentError](err); !is || notSent.Gone() || len(s.messages()) > 0 {
		t.Errorf("%v, and it has %v", err, s.messages())
	}
	if got := controlsocket.Look(t.Context(), path); got.Liveness != dispatch.Alive {
		t.Errorf("a server with many peers is %+v", got)
	}
	must(t, abort(peers[0]))
	peers[0].Close()
	for err != nil { // until the server has seen it
		_, err = c.Send(t.Context(), controlsocket.Message{Text: "the next"})
	}
}

func TestClientAndServer(t *testing.T) {
	s := &session{info: controlsocket.Info{SessionID: string(gid), CWD: "/w", Model: &controlsocket.Model{ID: "m", Provider: "p"}}}
	path, _ := serve(t, s)
	c := controlsocket.Client{Path: path}
	if got, err := peertest.Info(t.Context(), path); err != nil || got.SessionID != s.info.SessionID || *got.Model != *s.info.Model {
		t.Errorf("%+v, %v", got, err)
	}
	if as, err := c.Send(t.Context(), controlsocket.Message{Text: "hi"}); err != nil || as != dispatch.Followed {
		t.Errorf("a client that names no mode: %q, %v", as, err)
	}
	if m, err := peertest.LastMessage(t.Context(), path); err != nil || m != nil {
		t.Errorf("%+v, %v", m, err)
	}
	s.last = &controlsocket.LastMessage{Role: "assistant", Content: "done", Timestamp: 5}
	if m, err := peertest.LastMessage(t.Context(), path); err != nil || *m != *s.last {
		t.Errorf("%+v, %v", m, err)
	}
	if err := peertest.Abort(t.Context(), path); err != nil || s.cut != 1 {
		t.Errorf("%d aborts, %v", s.cut, err)
	}
	_, err := c.Send(t.Context(), controlsocket.Message{Text: " "})
	if refused, is := errors.AsType[*controlsocket.RefusedError](err); !is || refused.Said != "Missing message" {
		t.Error(err)
	}
}

func FuzzServer(f *testing.F) {
	for _, line := range []string{`{"type":"send","message":"x","sender":` + envelope + `}`, `{"type":"get_info","id":1}`, `{"type":`, "\x00", `{"type":"send","mode":{}}`, `"x"`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n") || strings.TrimSpace(line) == "" {
			return
		}
		path, _ := serve(t, &session{})
		got := exchange(t, path, line+"\n")
		var a struct{ Type, Command string }
		if err := json.Unmarshal([]byte(got), &a); err != nil || a.Type != "response" || strings.Count(got, "\n") != 1 {
			t.Fatalf("%q was answered with %q", line, got)
		}
	})
}
