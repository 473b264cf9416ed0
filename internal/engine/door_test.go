package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
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

// whatAStrangerKnows of an engine: all that is not secret.
func whatAStrangerKnows(t *testing.T, e *engine.Engine, c client.Client) stranger {
	t.Helper()
	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return stranger{Address: e.Address, API: e.API, Ports: listening(t, e.PID), DB: e.DB, Namespace: ns.GetNamespaceInfo().GetId(), Workflow: "waiter"}
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
	known := whatAStrangerKnows(t, e, c)
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
		"frontend stream /grpc.health.v1.Health/Watch",
	} {
		if !slices.Contains(done, want) {
			t.Errorf("the control does not reach %s", want)
		}
	}
	for _, name := range done {
		if !strings.Contains(name, e.Address) && !strings.HasPrefix(name, "frontend") {
			t.Errorf("he reached %s, which the frontend does not guard", name)
		}
	}
}

// TestAnOpenEngineSaysSoOnEveryPage of its Web UI.
func TestAnOpenEngineSaysSoOnEveryPage(t *testing.T) {
	t.Parallel()
	for _, e := range []*engine.Engine{temporaltest.Shared(t).Engine, start(t, engine.Options{DB: newDB(t), Open: true})} {
		page := ask(t, e, http.MethodGet, "/namespaces/default/workflows", http.StatusOK)
		if strings.Contains(page, "This engine is open") != e.Open {
			t.Errorf("open %v: %s", e.Open, page)
		}
	}
}

// ask calls the HTTP API or the Web UI with the key, as curl does, and returns the answer.
func ask(t *testing.T, e *engine.Engine, method, path string, want int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, e.API+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: &http.Transport{TLSClientConfig: e.Key.TLS()}}
	defer c.CloseIdleConnections()
	answer, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		t.Errorf("%s %s: %s, %v, want %d\n%s", method, path, answer.Status, err, want, b)
	}
	return string(b)
}

// TestTheHTTPAPIAdmitsTheKey, with reads and with signals.
func TestTheHTTPAPIAdmitsTheKey(t *testing.T) {
	t.Parallel()
	e := temporaltest.Shared(t).Engine
	ask(t, e, http.MethodGet, "/api/v1/namespaces", http.StatusOK)
	ask(t, e, http.MethodPost, "/api/v1/namespaces/default/workflows/none/signal/approval", http.StatusNotFound)
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

// TestAStandardClientIsAdmittedWithTheKey that the variables of `starter env` name, and not without.
func TestAStandardClientIsAdmittedWithTheKey(t *testing.T) {
	e := temporaltest.Shared(t).Engine
	t.Setenv("TEMPORAL_ADDRESS", e.Address)
	t.Setenv("TEMPORAL_TLS", "true")
	t.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", e.Key.Path)
	dialStandard := func() error {
		o, err := envconfig.LoadDefaultClientOptions()
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.DialContext(t.Context(), o)
		if err == nil {
			waiting(t, c)
			c.Close()
		}
		return err
	}
	refused(t, dialStandard()) // by the server's alert, or by the end of the connection: whichever the client meets first
	t.Setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", e.Key.Path)
	t.Setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", e.Key.Path)
	if err := dialStandard(); err != nil {
		t.Errorf("with the key: %v", err)
	}
}

// TestAClientGoesOnWithTheNextEngine of the same directory: the key is kept.
func TestAClientGoesOnWithTheNextEngine(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	c := dial(t, e)
	waiting(t, c)
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, engine.Options{DB: e.DB, Port: portOf(t, e.Address)})
	eventually.Holds(t, "the client of the first engine is admitted by the next", func() bool {
		_, err := temporalclient.Describe(t.Context(), c, "waiter", "")
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
				d, err := temporalclient.Describe(t.Context(), c, "waiter", "")
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
		if err := reach(e.Address, "/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo", ownCertificate(), &emptypb.Empty{}); err == nil {
			t.Fatal("a call was admitted")
		}
		if answer, err := http.Get(e.API); err == nil {
			_ = answer.Body.Close()
		}
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
