package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/eventually"
	"github.com/ratchet-dev/ratchet/internal/need"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// waiting starts a workflow that waits for the signal word.
func waiting(t *testing.T, c client.Client) client.WorkflowRun {
	t.Helper()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "waiter", TaskQueue: temporalclient.TaskQueue}, waiter)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// whatAStrangerKnows of an engine: all that is not secret, and keys that do not fit.
func whatAStrangerKnows(t *testing.T, e *engine.Engine, c client.Client, cookies ...string) stranger {
	t.Helper()
	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return stranger{
		Address: e.Address, UI: e.UI, Ports: listening(t, e.PID), DB: e.DB, Namespace: ns.GetNamespaceInfo().GetId(), Workflow: "waiter",
		Bearers: []string{"", "Bearer", "Bearer ", "bearer x", "Basic " + string(e.Token), "Bearer " + string(e.Token), string(e.Token),
			strings.TrimPrefix(e.Bearer(), "Bearer "), e.Bearer() + "0", e.Bearer()[:len(e.Bearer())/2],
			e.Token.Bearer("another start", e.Address), e.Token.Bearer("s", "127.0.0.1:1"), engine.NewToken().Bearer("s", e.Address)},
		Cookies: append(cookies, cookieName(t, e)+"=", cookieName(t, e)+"=a.b", cookieName(t, e)+"=."),
	}
}

func cookieName(t *testing.T, e *engine.Engine) string {
	t.Helper()
	return fmt.Sprintf("ratchet_session_%d", portOf(t, e.UI))
}

// TestAnotherUserReachesNothing attacks every port of an engine and its files, as another user. The
// control is an engine that is open. Findings B2 and B5.
func TestAnotherUserReachesNothing(t *testing.T) {
	need.Root(t)
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	if err := os.Chmod(filepath.Dir(e.DB), 0o755); err != nil {
		t.Fatal(err)
	}
	c := dial(t, e)
	waiting(t, c)
	known := whatAStrangerKnows(t, e, c, login(t, e, "/"))
	if len(known.Ports) < 5 {
		t.Errorf("the engine listens at %q only", known.Ports)
	}
	for _, done := range known.attackAsAnother(t) {
		t.Errorf("he reached %s", done)
	}
	if signals := signalsOf(t, c); signals != 0 {
		t.Errorf("the workflow got %d signals", signals)
	}
}

func TestAnotherUserReachesAnOpenEngine(t *testing.T) {
	need.Root(t)
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t), Open: true})
	c := dial(t, e)
	waiting(t, c)
	known := whatAStrangerKnows(t, e, c)
	done := known.attackAsAnother(t)
	t.Logf("%d attacks succeeded: %q", len(done), done)
	for _, want := range []string{
		"frontend /temporal.api.workflowservice.v1.WorkflowService/ListNamespaces", "frontend /temporal.server.api.adminservice.v1.AdminService/DescribeCluster",
		"frontend /temporal.api.operatorservice.v1.OperatorService/ListClusters", "frontend /grpc.health.v1.Health/Check",
		"frontend stream /grpc.health.v1.Health/Watch", "web /", "web /api/v1/namespaces", "web signal",
	} {
		if !slices.Contains(done, want) {
			t.Errorf("the control does not reach %s", want)
		}
	}
	if !slices.ContainsFunc(done, func(name string) bool { return strings.HasPrefix(name, "plain signal by history") }) {
		t.Error("the control does not reach the history service")
	}
	if signals := signalsOf(t, c); signals != 2 { // by history and by the Web UI
		t.Errorf("the workflow got %d signals", signals)
	}
}

// TestAnOpenEngineSaysSoOnEveryPage of its Web UI.
func TestAnOpenEngineSaysSoOnEveryPage(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		e := start(t, engine.Options{DB: newDB(t), Open: open})
		status, page := ask(t, e, "GET /namespaces/default/workflows HTTP/1.1\nHost: 127.0.0.1:PORT\nConnection: close\nAuthorization: "+e.Bearer()+"\n\n")
		if status != http.StatusOK || strings.Contains(page, "This engine is open") != open {
			t.Errorf("open %v: %d %s", open, status, page)
		}
	}
}

func signalsOf(t *testing.T, c client.Client) (n int) {
	t.Helper()
	for events := c.GetWorkflowHistory(t.Context(), "waiter", "", false, 0); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetWorkflowExecutionSignaledEventAttributes() != nil {
			n++
		}
	}
	return n
}

// bearer is a client that sends a header as the standard clients do.
type bearer string

func (b bearer) GetHeaders(context.Context) (map[string]string, error) {
	return map[string]string{"authorization": string(b)}, nil
}

// TestAStandardClientIsAdmittedWithTheBearer and told why without it.
func TestAStandardClientIsAdmittedWithTheBearer(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	c, err := client.DialContext(t.Context(), client.Options{HostPort: e.Address, HeadersProvider: bearer(e.Bearer())})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	waiting(t, c)
	_, err = client.DialContext(t.Context(), client.Options{HostPort: e.Address})
	refused(t, err, "the engine is locked", "starter env")
	if _, denied := errors.AsType[*serviceerror.PermissionDenied](err); !denied {
		t.Errorf("error is %T", err)
	}
}

// TestAStartOfTheEngineHasItsOwnBearer: who took the port meanwhile may have heard the last. A client that holds the token goes on.
func TestAStartOfTheEngineHasItsOwnBearer(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	c := dial(t, e)
	waiting(t, c)
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := start(t, engine.Options{DB: e.DB, Port: portOf(t, e.Address), Token: e.Token})
	_, err := client.DialContext(t.Context(), client.Options{HostPort: next.Address, HeadersProvider: bearer(e.Bearer())})
	refused(t, err, "the engine is locked")
	eventually.Holds(t, "the client of the first engine is admitted by the next", func() bool {
		_, err := c.DescribeWorkflowExecution(t.Context(), "waiter", "")
		return err == nil
	})
}

// TestTheServersOwnWorkersAreAdmitted: a batch is a workflow of theirs, which calls the frontend.
func TestTheServersOwnWorkersAreAdmitted(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprintf("open %v", open), func(t *testing.T) {
			c := dial(t, start(t, engine.Options{DB: newDB(t), Open: open}))
			waiting(t, c)
			eventually.Holds(t, "the workflow is listed", func() bool {
				n, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowId = 'waiter'"})
				return err == nil && n.GetCount() == 1
			})
			_, err := c.WorkflowService().StartBatchOperation(t.Context(), &workflowservice.StartBatchOperationRequest{
				Namespace: "default", JobId: "end", Reason: "test", VisibilityQuery: "WorkflowId = 'waiter'",
				Operation: &workflowservice.StartBatchOperationRequest_TerminationOperation{TerminationOperation: &batch.BatchOperationTermination{}},
			})
			if err != nil {
				t.Fatal(err)
			}
			eventually.Holds(t, "the batch has ended the workflow", func() bool {
				d, err := c.DescribeWorkflowExecution(t.Context(), "waiter", "")
				return err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
			})
		})
	}
}

// TestRefusedCallsDoNotFillTheLog of the engine: a stranger could fill the disk.
func TestRefusedCallsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	before := sizeOf(t, e.DB+".log")
	for range 100 {
		_, err := client.DialContext(t.Context(), client.Options{HostPort: e.Address, HeadersProvider: bearer("Bearer x")})
		refused(t, err, "locked")
	}
	if grown := sizeOf(t, e.DB+".log") - before; grown > 20<<10 {
		b, _ := os.ReadFile(e.DB + ".log")
		t.Errorf("the log has grown by %d bytes:\n%.2000s", grown, b[before:])
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// login opens the Web UI by a link, as the page behind it does, and returns the cookie.
func login(t *testing.T, e *engine.Engine, page string) string {
	t.Helper()
	answer := redeem(t, e, e.Login(page))
	if answer.StatusCode != http.StatusNoContent || len(answer.Cookies()) != 1 {
		t.Fatalf("%s: %s, cookies %q", e.Login(page), answer.Status, answer.Cookies())
	}
	cookie := answer.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Domain != "" || cookie.Path != "/" {
		t.Errorf("cookie %v", cookie)
	}
	return cookie.Name + "=" + cookie.Value
}

func redeem(t *testing.T, e *engine.Engine, link string) *http.Response {
	t.Helper()
	at, code, found := strings.Cut(link, "#")
	code, _, _ = strings.Cut(code, "/")
	if !found || at != e.UI+"/login" {
		t.Fatalf("link %s", link)
	}
	answer, err := http.Post(at, "text/plain", strings.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer
}

func TestALoginLinkOpensTheWebUIOnce(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	visitor := stranger{UI: e.UI}
	link := e.Login("/namespaces/default/workflows")
	if answer := redeem(t, e, link); answer.StatusCode != http.StatusNoContent {
		t.Fatalf("first: %s", answer.Status)
	}
	if answer := redeem(t, e, link); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("again: %s", answer.Status)
	}
	for name, old := range map[string]string{
		"too old":              e.Token.Login(e.UI, e.Start, "/", time.Now().Add(-engine.LoginLife-time.Minute)),
		"of another start":     e.Token.Login(e.UI, "start", "/", time.Now()),
		"of another engine":    engine.NewToken().Login(e.UI, e.Start, "/", time.Now()),
		"with a later end":     e.UI + strings.Replace(strings.TrimPrefix(e.Login("/"), e.UI), ".", ".9", 1),
		"with another's nonce": strings.Replace(e.Login("/"), "#", "#A", 1),
	} {
		if answer := redeem(t, e, old); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	cookie := login(t, e, "/")
	for path, want := range map[string]bool{"/": true, "/api/v1/namespaces": true} {
		if err := visitor.get(path, http.Header{"Cookie": {cookie}}); (err == nil) != want {
			t.Errorf("%s with a session: %v", path, err)
		}
	}
	for name, header := range map[string]http.Header{
		"a page of another port": {"Sec-Fetch-Site": {"same-site"}},
		"a page of another site": {"Sec-Fetch-Site": {"cross-site"}},
		"an origin of another":   {"Origin": {"http://127.0.0.1:1"}},
		"a page without origin":  {"Origin": {"null"}},
	} {
		header.Set("Cookie", cookie)
		if err := visitor.get("/api/v1/namespaces", header); err == nil {
			t.Errorf("%s hears an answer", name)
		}
	}
	if err := visitor.get("/api/v1/namespaces", http.Header{"Authorization": {e.Bearer()}}); err != nil {
		t.Errorf("a script with the bearer: %v", err)
	}
}

// TestASessionEndsWithItsEngine: the next at the same port may be anybody's.
func TestASessionEndsWithItsEngine(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	cookie := login(t, e, "/")
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := start(t, engine.Options{DB: e.DB, Port: portOf(t, e.Address), UIPort: portOf(t, e.UI), Token: e.Token})
	if err := (stranger{UI: next.UI}).get("/api/v1/namespaces", http.Header{"Cookie": {cookie}}); err == nil {
		t.Error("the session goes on")
	}
}

// TestAnEngineThatDoesNotLockIsRefused: a program of an older version.
func TestAnEngineThatDoesNotLockIsRefused(t *testing.T) {
	script(t, `echo '{"address": "127.0.0.1:1", "pid": 1}'; exec cat`)
	_, err := engine.Start(t.Context(), engine.Options{DB: newDB(t)})
	refused(t, err, "older version", "build it anew")
}
