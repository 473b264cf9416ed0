package controlsocket_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// ok answers a send as a peer does that echoes no id.
const ok = `{"type":"response","command":"send","success":true,"data":{"deliveredAs":"direct","wants_reply":false}}` + "\n"

// speaks listens at a path and does with every connection what a script says.
func speaks(t *testing.T, path string, script func(*bufio.Reader, net.Conn)) {
	t.Helper()
	l := listen(t, path)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				script(bufio.NewReader(conn), conn)
			}()
		}
	}()
}

// says reads one request and writes a text.
func says(text string) func(*bufio.Reader, net.Conn) {
	return func(r *bufio.Reader, conn net.Conn) {
		_, _ = r.ReadString('\n')
		_, _ = io.WriteString(conn, text)
	}
}

// hangs reads until the other side ends.
func hangs(r *bufio.Reader, _ net.Conn) { _, _ = io.Copy(io.Discard, r) }

func TestClientSend(t *testing.T) {
	noise := "\n  \t\r\nnot json\n{\n[1]\nnull\n7\n" +
		`{"type":"event","event":"turn_end"}` + "\n" +
		`{"type":"response","command":"get_info","success":true}` + "\n" +
		`{"type":"response","command":"send"}` + "\n" +
		`{"type":"response","command":"send","success":"yes"}` + "\n" +
		`{"type":"response","command":"send","success":false,"error":"not yours","id":"another"}` + "\n" +
		`{"type":"response","command":"send","success":false,"error":"not yours","id":7}` + "\n"
	event := `{"type":"event","text":"` + strings.Repeat("x", 50_000) + `"}` + "\n"
	for name, tt := range map[string]struct {
		script  func(*bufio.Reader, net.Conn)
		want    dispatch.Delivery
		refused string
		lost    string // the end of an UnansweredError
		unread  bool   // nothing was done, and somebody is there
	}{
		"an answer":                       {script: says(ok), want: dispatch.Direct},
		"an answer without a line's end":  {script: says(strings.TrimSpace(ok)), want: dispatch.Direct},
		"an answer behind noise":          {script: says(noise + ok), want: dispatch.Direct},
		"an answer with noise behind it":  {script: says(ok + noise), want: dispatch.Direct},
		"an answer that came first":       {script: func(r *bufio.Reader, c net.Conn) { io.WriteString(c, ok); hangs(r, c) }, want: dispatch.Direct},
		"an answer with a null id":        {script: says(strings.Replace(ok, "}}", `},"id":null}`, 1)), want: dispatch.Direct},
		"an answer without data":          {script: says(`{"type":"response","command":"send","success":true}` + "\n")},
		"an answer with strange data":     {script: says(`{"type":"response","command":"send","success":true,"data":[1]}` + "\n")},
		"a refusal":                       {script: says(`{"type":"response","command":"send","success":false,"error":"Session not ready"}` + "\n"), refused: "Session not ready"},
		"a refusal of many lines":         {script: says(`{"type":"response","command":"send","success":false,"error":" a\n b\u001b"}` + "\n"), refused: "a b\x1b"},
		"a refusal in an object":          {script: says(`{"type":"response","command":"send","success":false,"error":{"code": 1}}` + "\n"), refused: `{"code": 1}`},
		"a refusal without a word":        {script: says(`{"type":"response","command":"send","success":false}` + "\n"), refused: "the peer gives no reason"},
		"a refusal of a book":             {script: says(`{"type":"response","command":"send","success":false,"error":"` + strings.Repeat("x", 5000) + `"}` + "\n"), refused: strings.Repeat("x", 1021) + "…"},
		"a close before the request":      {script: func(*bufio.Reader, net.Conn) {}, unread: true},
		"a close within the request":      {script: func(_ *bufio.Reader, c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, unread: true},
		"a close after the request":       {script: says(""), lost: "the peer closed before it answered"},
		"a close after noise":             {script: says(noise), lost: "the peer closed before it answered"},
		"a close within the answer":       {script: says(ok[:40]), lost: "the peer closed before it answered"},
		"an answer to another command":    {script: says(strings.Replace(ok, `"send"`, `"abort"`, 1)), lost: "the peer closed before it answered"},
		"an answer with another id":       {script: says(strings.Replace(ok, "}}", `},"id":"x"}`, 1)), lost: "the peer closed before it answered"},
		"noise without end":               {script: says(strings.Repeat("x", controlsocket.MaxHeard+1)), lost: "no answer in 4194304 bytes"},
		"noise without end, of all lines": {script: says(strings.Repeat(event, controlsocket.MaxHeard/len(event)+1) + ok), lost: "no answer in 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(folder(t), gid)
			speaks(t, path, tt.script)
			c := controlsocket.Client{Path: path, Timeout: time.Minute}
			got, err := c.Send(t.Context(), controlsocket.Message{Text: "hello"})
			refused, _ := errors.AsType[*controlsocket.RefusedError](err)
			lost, _ := errors.AsType[*controlsocket.UnansweredError](err)
			switch {
			case tt.refused != "":
				if refused == nil || refused.Said != tt.refused {
					t.Errorf("%q, %v", got, err)
				}
			case tt.unread:
				if notSent, _ := errors.AsType[*controlsocket.NotSentError](err); notSent == nil || notSent.Gone() {
					t.Errorf("%q, %v", got, err)
				}
			case tt.lost != "":
				if lost == nil || !strings.HasSuffix(err.Error(), tt.lost) {
					t.Errorf("%q, %v", got, err)
				}
			case err != nil || got != tt.want:
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// The caller gives up when the peer has the first byte: from there on nobody can
// tell.
func TestClientGivesUp(t *testing.T) {
	for name, tt := range map[string]struct {
		then func(*bufio.Reader, net.Conn)
		text string
	}{
		"on a peer that reads and is silent":     {hangs, "hello"},
		"on a peer that reads no further":        {nil, "hello"},
		"on a peer that does not read it all":    {nil, strings.Repeat("x", 1<<20)},
		"on a peer that keeps sending new lines": {func(_ *bufio.Reader, conn net.Conn) { dribble(conn) }, "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(folder(t), gid)
			ctx, cancel := context.WithCancel(t.Context())
			over := t.Context().Done()
			speaks(t, path, func(_ *bufio.Reader, conn net.Conn) {
				_, _ = conn.Read(make([]byte, 1))
				cancel()
				if tt.then != nil {
					tt.then(bufio.NewReader(conn), conn)
				}
				<-over
			})
			_, err := controlsocket.Client{Path: path, Timeout: time.Minute}.Send(ctx, controlsocket.Message{Text: tt.text})
			if _, lost := errors.AsType[*controlsocket.UnansweredError](err); !lost || !errors.Is(err, context.Canceled) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

// dribble writes blank lines until the other side ends.
func dribble(conn net.Conn) {
	for err := error(nil); err == nil; {
		_, err = io.WriteString(conn, "\n")
	}
}

func TestClientHasItsOwnLimit(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	speaks(t, path, hangs)
	_, err := controlsocket.Client{Path: path, Timeout: time.Millisecond}.Send(t.Context(), controlsocket.Message{Text: "hello"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%T %v", err, err)
	}
}

func TestClientIsCanceledBeforehand(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	speaks(t, path, says(ok))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := controlsocket.Client{Path: path}.Send(ctx, controlsocket.Message{Text: "hello"})
	if notSent, _ := errors.AsType[*controlsocket.NotSentError](err); notSent == nil || notSent.Code != "canceled" || notSent.Gone() {
		t.Error(err)
	}
}

func TestClientDoesNotReach(t *testing.T) {
	for name, tt := range map[string]struct {
		put      func(t *testing.T, path string)
		code     string
		conflict controlsocket.Conflict
		gone     bool
	}{
		"a peer that took its socket away": {func(*testing.T, string) {}, "ENOENT", "", true},
		"a peer that died":                 {func(t *testing.T, path string) { stale(t, path) }, "ECONNREFUSED", "", true},
		"what a symlink points at":         {func(t *testing.T, path string) { listen(t, beside(path, "x")); symlink(t, "x", path) }, "", controlsocket.Symlink, false},
		"a file":                           {func(t *testing.T, path string) { write(t, path) }, "", controlsocket.NotSocket, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(folder(t), gid)
			// The peer is alive when it is probed and dies before the send.
			l := listen(t, path)
			if got := controlsocket.Look(t.Context(), path); got.Liveness != dispatch.Alive {
				t.Fatal(got)
			}
			l.Close()
			tt.put(t, path)
			_, err := controlsocket.Client{Path: path, Timeout: time.Minute}.Send(t.Context(), controlsocket.Message{Text: "hello"})
			notSent, is := errors.AsType[*controlsocket.NotSentError](err)
			if !is || notSent.Code != tt.code || notSent.Conflict != tt.conflict || notSent.Gone() != tt.gone || notSent.Unwrap() == nil {
				t.Errorf("%#v", err)
			}
		})
	}
}

func TestClientSaysWhoSends(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	requests := make(chan string, 2)
	speaks(t, path, func(r *bufio.Reader, conn net.Conn) {
		line, _ := r.ReadString('\n')
		requests <- line
		_, _ = io.WriteString(conn, ok)
	})
	c := controlsocket.Client{Path: path}
	replyable := false
	for want, m := range map[string]controlsocket.Message{
		`"message":"a\nb","mode":"follow_up"}`: {Text: "a\nb"},
		`"message":"@x","mode":"steer","sender":{"sessionId":"s","agentId":"a","cwd":"/","timestamp":"t","origin":"external-mcp","replyable":false},"wants_reply":true}`: {
			Text: "@x", Mode: dispatch.Steer, WantsReply: true,
			Sender: &dispatch.Sender{SessionID: "s", AgentID: "a", CWD: "/", Timestamp: "t", Origin: dispatch.ExternalMCP, Replyable: &replyable},
		},
	} {
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(<-requests); !strings.HasPrefix(got, `{"type":"send","id":"`) || !strings.HasSuffix(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
