package codex_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// The variables that make this test binary an app-server.
const (
	wireVariable = "CODEX_TEST_WIRE" // the address of who plays it
	dieVariable  = "CODEX_TEST_DIE"  // a file of exit codes and last words, a line for each process; then it plays
)

// TestMain is also the client: this binary, called as the client is. The
// app-server itself is played in the test, at the other end of a connection.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "app-server" {
		syscall.Exit(relay()) // os.Exit would wait a second under the race detector
	}
	if len(os.Args) > 1 && os.Getenv(wireVariable) != "" {
		syscall.Exit(command(os.Args[1:]))
	}
	os.Exit(eventually.RunTests(m, 8))
}

// relay is the process of an app-server without its wits.
func relay() int {
	if code, died := dieFirst(); died {
		return code
	}
	conn, err := net.Dial("tcp", os.Getenv(wireVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stderr, "codex-test: serving")
	go func() {
		io.Copy(conn, os.Stdin)
		conn.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(os.Stdout, conn)
	return 0
}

// dieFirst takes one line of the file and does what it says.
func dieFirst() (code int, died bool) {
	file := os.Getenv(dieVariable)
	text, _ := os.ReadFile(file)
	line, rest, some := strings.Cut(string(text), "\n")
	if !some {
		return 0, false
	}
	os.WriteFile(file, []byte(rest), 0o600)
	number, words, _ := strings.Cut(line, " ")
	fmt.Fprintln(os.Stderr, words)
	code, _ = strconv.Atoi(number)
	return code, true
}

// command is what the client does besides.
func command(args []string) int {
	switch strings.Join(args, " ") {
	case "--version":
		fmt.Println("codex-cli 0.169.0")
	case "sandbox true":
		if why := os.Getenv("CODEX_TEST_NOBOX"); why != "" {
			fmt.Fprintln(os.Stderr, why)
			return 1
		}
	default:
		return 2
	}
	return 0
}

// frame is a line of the wire, as the app-server sees it.
type frame struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// peer is an app-server, played at its end of the wire.
type peer struct {
	testing.TB
	conn  net.Conn
	lines *bufio.Reader
	early []frame // frames that came before the one that was waited for
	cuts  bool    // a steer cuts off the answer under way

	writing sync.Mutex
}

// serve is a client whose app-servers play does, one goroutine for each
// process.
func serve(t *testing.T, play func(*peer)) codex.Config {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var plays sync.WaitGroup
	plays.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			plays.Go(func() {
				defer conn.Close()
				play(&peer{TB: t, conn: conn, lines: bufio.NewReader(conn)})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		plays.Wait()
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return codex.Config{
		Binary:  self,
		Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), wireVariable + "=" + l.Addr().String()},
		Allow:   []string{wireVariable, dieVariable, "CODEX_TEST_NOBOX"},
	}
}

// next is the next frame; ok is false after the last.
func (p *peer) next() (f frame, ok bool) {
	if len(p.early) > 0 {
		f, p.early = p.early[0], p.early[1:]
		return f, true
	}
	return p.receive()
}

// receive is the next frame on the wire; ok is false after the last. The question for the
// user's configuration is answered here: it has one MCP server.
func (p *peer) receive() (f frame, ok bool) {
	line, err := p.lines.ReadBytes('\n')
	if err != nil {
		return frame{}, false
	}
	if err := json.Unmarshal(line, &f); err != nil {
		p.Errorf("the adapter wrote %q: %v", line, err)
	}
	if f.Method == "config/read" {
		p.answer(f, `{"config":{"model":"m","mcp_servers":{"the.users":{"command":"x","enabled":true}},"features":{"instant_interrupt":`+fmt.Sprint(p.cuts)+`}}}`)
		return p.receive()
	}
	return f, true
}

// expect is the next frame, of a method.
func (p *peer) expect(method string) frame {
	f, ok := p.next()
	if !ok || f.Method != method {
		p.Errorf("the adapter wrote %s %s %s; want %s", f.Method, f.Params, f.Result, method)
		p.conn.Close() // so that the adapter waits for nothing
	}
	return f
}

// say writes a line; the arguments go into it as JSON.
func (p *peer) say(format string, args ...any) {
	for i, a := range args {
		if _, raw := a.(json.RawMessage); !raw {
			text, err := json.Marshal(a)
			if err != nil {
				p.Error(err)
			}
			args[i] = json.RawMessage(text)
		}
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	fmt.Fprintf(p.conn, format+"\n", args...) // a client that is gone does not read it
}

// answer answers a request.
func (p *peer) answer(f frame, result string) { p.say(`{"id":%s,"result":`+result+`}`, f.ID) }

// thread and turn are the ids of the one thread, and of its one turn.
const (
	thread = "01a1fec0-1491-75d1-9f10-4010aecf3fa2"
	turnID = "01a1fec0-14af-7fd2-9c50-6fabc9fa53e9"
)

// greet plays the way to a thread, which is bounded as it was asked to be, and
// returns what was asked for.
func (p *peer) greet() frame {
	p.answer(p.expect("initialize"), `{"userAgent":"test","codexHome":"/","platformFamily":"unix","platformOs":"linux"}`)
	if f := p.expect("initialized"); f.ID != nil {
		p.Errorf("initialized with the id %s", f.ID)
	}
	f, _ := p.next()
	p.answer(f, `{"thread":{"id":"`+thread+`","status":{"type":"idle"}},"sandbox":{"type":"workspaceWrite","networkAccess":false},"approvalPolicy":"on-request"}`)
	return f
}

// begin plays the begin of a turn, up to its user message, and returns what the
// user says.
func (p *peer) begin() frame {
	f := p.expect("turn/start")
	p.answer(f, `{"turn":{"id":"`+turnID+`","items":[],"status":"inProgress"}}`)
	p.say(`{"method":"turn/started","params":{"threadId":"` + thread + `","turn":{"id":"` + turnID + `","status":"inProgress"}}}`)
	p.userMessage(f)
	return f
}

func (p *peer) userMessage(start frame) {
	var params struct{ ClientUserMessageID string }
	if err := json.Unmarshal(start.Params, &params); err != nil || params.ClientUserMessageID == "" {
		p.Errorf("a turn/start without an id of its message: %s", start.Params)
	}
	p.say(`{"method":"item/started","params":{"threadId":"`+thread+`","turnId":"`+turnID+`","item":{"type":"userMessage","id":"m","clientId":%s}}}`, params.ClientUserMessageID)
}

// item tells of an item of the turn, where "started" or "completed" is what
// happened to it.
func (p *peer) item(what, item string) {
	p.say(`{"method":"item/` + what + `","params":{"threadId":"` + thread + `","turnId":"` + turnID + `","item":` + item + `}}`)
}

// finish tells the end of the turn; more are members of it.
func (p *peer) finish(status, more string) {
	p.say(`{"method":"thread/status/changed","params":{"threadId":"` + thread + `","status":{"type":"idle"}}}`)
	p.say(`{"method":"turn/completed","params":{"threadId":"` + thread + `","turn":{"id":"` + turnID + `","items":[],"status":"` + status + `"` + more + `}}}`)
}

// rest reads to the end of the wire.
func (p *peer) rest() {
	for _, ok := p.next(); ok; _, ok = p.next() {
	}
}

// start begins a session that is stopped when the test ends.
func start(t *testing.T, c codex.Config, change ...func(*agent.Options)) (agent.Session, *agenttest.Log) {
	t.Helper()
	o := agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
	for _, f := range change {
		f(&o)
	}
	s, err := codex.New(c).Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t.Context()) })
	return s, agenttest.Watch(t, s)
}

// playing starts a session of which play is all that happens after its start.
func playing(t *testing.T, play func(*peer)) (agent.Session, *agenttest.Log) {
	t.Helper()
	return start(t, serve(t, func(p *peer) {
		p.greet()
		play(p)
		p.rest()
	}))
}

// soon is a limit for what must happen.
func soon() <-chan time.Time { return time.After(agenttest.Patience) }
