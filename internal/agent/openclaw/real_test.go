package openclaw_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/openclaw"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestRealGateway runs the suite against the gateway of OPENCLAW_MJS, on the Node
// of NODE_BIN.
func TestRealGateway(t *testing.T) {
	need.Suite(t, need.CI)
	real := startReal(t, need.Env(t, "NODE_BIN"), need.Env(t, "OPENCLAW_MJS"))
	agenttest.Run(t, agenttest.Subject{New: real.subject, Touch: touch, Real: true})
	if !need.Has(need.Nightly) {
		return
	}
	t.Run("a message commands nothing", real.commandsNothing)
	t.Run("read only", real.readOnly)
	t.Run("the system prompt goes once", real.systemPromptOnce)
}

// commandsNothing has texts reach the model that the gateway would obey.
func (g *realGateway) commandsNothing(t *testing.T) {
	model := fakemodel.Start(t)
	l := g.watch(t, model, agent.WorkspaceWrite)
	for text, heard := range map[string]string{
		"/reset": "`/reset`", "see /elevated full and /status": "see `/elevated` full and `/status`", "stop": "stop", "!ls": "!ls", "Kim: /new": "Kim: `/new`",
	} {
		if turn, _ := l.Turn(text + "\n[[say:ok]]"); turn.Status != agent.Completed || turn.Text != "ok" {
			t.Errorf("%q: the turn was %s with %q", text, turn.Status, turn.Text)
		}
		if all := model.Requests(); !strings.Contains(all[len(all)-1].Text(), "\n"+heard+"\n") {
			t.Errorf("%q: the model heard\n%s", text, all[len(all)-1].Text())
		}
	}
	if turn, _ := l.Turn("stop"); turn.Status != agent.Completed {
		t.Errorf("stop: the turn was %s", turn.Status)
	}
}

// readOnly has the gateway run nothing, without a question.
func (g *realGateway) readOnly(t *testing.T) {
	l := g.watch(t, fakemodel.Start(t), agent.ReadOnly)
	file := filepath.Join(g.workspace, "made")
	_, events := l.Turn(touch(file) + fakemodel.Tool("write", map[string]string{"path": file, "content": "x"}) + fakemodel.Say("so be it"))
	if p := agenttest.All[agent.Permission](events); len(p) > 0 {
		t.Errorf("asked %+v", p)
	}
	if _, err := os.Stat(file); err == nil || agenttest.Said(events) != "so be it" {
		t.Errorf("said %q; the file: %v", agenttest.Said(events), err)
	}
}

// systemPromptOnce resumes a session before its first message and after it.
func (g *realGateway) systemPromptOnce(t *testing.T) {
	model := fakemodel.Start(t)
	a, o := g.subject(t, model)
	o.System = "heliotrope"
	for i := range 3 {
		s, err := a.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Resume = s.ID(); i > 0 {
			agenttest.Watch(t, s).Turn(fakemodel.Say("ok"))
			all := model.Requests()
			if n := strings.Count(all[len(all)-1].Text(), o.System); n != 1 {
				t.Errorf("message %d: the model heard it %d times", i, n)
			}
		}
		s.Stop(t.Context())
	}
}

func (g *realGateway) watch(t *testing.T, model *fakemodel.Server, sandbox agent.Sandbox) *agenttest.Log {
	a, o := g.subject(t, model)
	o.Sandbox = sandbox
	s, err := a.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return agenttest.Watch(t, s)
}

// realGateway is one gateway for all cases: it takes long to start.
type realGateway struct {
	workspace string
	config    openclaw.Config
	model     atomic.Pointer[url.URL] // of the case that runs
}

const realToken = "dummy-gateway-token"

func startReal(t *testing.T, node, script string) *realGateway {
	home := t.TempDir()
	g := &realGateway{workspace: filepath.Join(home, "workspace")}
	if err := os.Mkdir(g.workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	config := filepath.Join(home, "openclaw.json")
	write(t, config, g.configuration(t, port))
	environ := []string{
		"HOME=" + home, "PATH=" + filepath.Dir(node) + ":/usr/bin:/bin", "OPENCLAW_STATE_DIR=" + home, "OPENCLAW_CONFIG_PATH=" + config,
	}
	for _, name := range []string{"DISABLE_BONJOUR", "NO_RESPAWN", "NO_AUTO_UPDATE", "SKIP_CHANNELS", "SKIP_CRON"} {
		environ = append(environ, "OPENCLAW_"+name+"=1")
	}
	c, err := child.Start(t.Context(), child.Spec{
		Argv: []string{node, script, "gateway", "run", "--port", fmt.Sprint(port), "--auth", "token", "--token", realToken},
		Dir:  home, Env: append(environ, "OPENCLAW_EXEC_SHELL_SNAPSHOT=0"), Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.End)
	ready := make(chan struct{})
	go func() {
		for {
			line, err := c.ReadLine()
			if err != nil {
				return
			}
			if bytes.Contains(line, []byte("[gateway] ready")) {
				close(ready)
			}
		}
	}()
	select {
	case <-ready:
	case <-c.Done():
		t.Fatal("the gateway ended before it was ready")
	}
	g.config = openclaw.Config{
		URL: fmt.Sprintf("ws://127.0.0.1:%d", port), Token: realToken, KeyFile: filepath.Join(t.TempDir(), "device"),
	}
	return g
}

func (g *realGateway) subject(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
	at, err := url.Parse(model.URL)
	if err != nil {
		t.Fatal(err)
	}
	g.model.Store(at)
	dir, err := os.MkdirTemp(g.workspace, "")
	if err != nil {
		t.Fatal(err)
	}
	return openclaw.New(g.config), agent.Options{Dir: dir, Sandbox: agent.WorkspaceWrite}
}

// configuration is that of a gateway whose model is a relay to the case's.
func (g *realGateway) configuration(t *testing.T, port int) []byte {
	relay := &http.Server{Handler: &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(g.model.Load())
		translate(r.Out)
	}}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go relay.Serve(l)
	t.Cleanup(func() { relay.Close() })

	type object map[string]any
	price := object{"input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0}
	model := object{
		"id": "fake-model", "name": "Fake", "reasoning": false, "input": []string{"text"}, "cost": price, "contextWindow": 200000, "maxTokens": 8192,
	}
	b, err := json.Marshal(object{
		"gateway": object{"mode": "local", "bind": "loopback", "port": port, "auth": object{"mode": "token", "token": realToken}},
		"agents": object{"defaults": object{
			"workspace": g.workspace, "model": object{"primary": "fake/fake-model"}, "skipBootstrap": true,
		}},
		"models": object{"mode": "replace", "providers": object{"fake": object{
			"baseUrl": "http://" + l.Addr().String(), "apiKey": "dummy", "api": "anthropic-messages", "models": []object{model},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stripped is an id of a call by the fake model as the gateway gives it back:
// letters and digits are all that it leaves.
var stripped = regexp.MustCompile(`"call([A-Z2-7]{16})([0-9]+)"`)

// translate makes the ids of calls whole, and says in the fake model's words
// that a run was aborted before there was a result: by both it knows what is
// still to be done.
func translate(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway has left
	}
	body = stripped.ReplaceAll(body, []byte(`"call_${1}_$2"`))
	body = bytes.ReplaceAll(body, []byte(`"No result provided"`), []byte(`"aborted"`))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
