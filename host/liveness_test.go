package host_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/attempts"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// fakeEngine hears reports of failed attempts, and answers them in turn; the last
// answer goes on for ever.
type fakeEngine struct {
	workflowservice.UnimplementedWorkflowServiceServer
	answers []codes.Code

	mu      sync.Mutex
	reports []*workflowservice.RespondActivityTaskFailedRequest
}

func (*fakeEngine) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (*fakeEngine) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespace.NamespaceInfo{Id: "ours"}}, nil
}

func (f *fakeEngine) RespondActivityTaskFailed(_ context.Context, r *workflowservice.RespondActivityTaskFailedRequest) (*workflowservice.RespondActivityTaskFailedResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reports = append(f.reports, r)
	answer := f.answers[0]
	f.answers = f.answers[min(1, len(f.answers)-1):]
	if answer != codes.OK {
		return nil, status.Error(answer, "no")
	}
	return &workflowservice.RespondActivityTaskFailedResponse{}, nil
}

func (f *fakeEngine) heard() []*workflowservice.RespondActivityTaskFailedRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reports
}

// serve returns a client of it.
func (f *fakeEngine) serve(t *testing.T) client.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(s, f)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	c, err := client.Dial(client.Options{HostPort: l.Addr().String(), Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A file that nobody has locked is the attempt of a process that is gone.
func leave(t *testing.T, dir string, a attempts.Attempt) string {
	t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, uuid.NewString())
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func gone(name string) bool {
	_, err := os.Lstat(name)
	return os.IsNotExist(err)
}

func TestTheAttemptOfADeadWorkerIsEndedByItsToken(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []codes.Code
		reports int
	}{
		"it is taken":                     {[]codes.Code{codes.OK}, 1},
		"the engine has gone on since":    {[]codes.Code{codes.NotFound}, 1},
		"the engine does not know it":     {[]codes.Code{codes.InvalidArgument}, 1},
		"the engine answers another time": {[]codes.Code{codes.PermissionDenied, codes.PermissionDenied, codes.OK}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeEngine{answers: tc.answers}
			left := f.sweep(t, attempts.Attempt{Engine: "ours", Token: []byte("key"), PID: 7, Began: time.Now()})
			eventually.Holds(t, "the end of the attempt", func() bool { return gone(left) })
			heard := f.heard()
			if len(heard) != tc.reports {
				t.Fatalf("%d reports, want %d", len(heard), tc.reports)
			}
			info := heard[0].GetFailure().GetApplicationFailureInfo()
			if string(heard[0].GetTaskToken()) != "key" || info.GetType() != report.LostError || info.GetNonRetryable() || info.GetNextRetryDelay().AsDuration() > time.Second {
				t.Errorf("reported %+v", heard[0])
			}
		})
	}
}

// The key of another engine is not shown to this one.
func TestTheAttemptOfAnotherEngineIsLeftToIt(t *testing.T) {
	f := &fakeEngine{answers: []codes.Code{codes.OK}}
	other := attempts.Attempt{Engine: "another", Token: []byte("key"), Began: time.Now()}
	old := other
	old.Began = time.Now().Add(-48 * time.Hour)
	forgotten := f.sweep(t, old, other)
	eventually.Holds(t, "the end of what is of no more use", func() bool { return gone(forgotten) })
	if heard := f.heard(); len(heard) > 0 {
		t.Errorf("reported %+v", heard)
	}
	if left, err := os.ReadDir(filepath.Dir(forgotten)); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// sweep leaves attempts and has them looked at until the test ends. It returns the
// file of the first.
func (f *fakeEngine) sweep(t *testing.T, list ...attempts.Attempt) (first string) {
	t.Helper()
	runsDir := t.TempDir()
	l, err := host.OpenLiveness(t.Context(), runsDir, f.serve(t), client.DefaultNamespace, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range list {
		name := leave(t, filepath.Join(runsDir, "attempts"), a)
		if i == 0 {
			first = name
		}
	}
	t.Cleanup(l.Start(t.Context()))
	return first
}

// An activity whose context has ended still keeps what it has used.
func TestAWorkerThatStopsWaitsForItsAttempts(t *testing.T) {
	l, err := host.OpenLiveness(t.Context(), t.TempDir(), (&fakeEngine{}).serve(t), "default", slog.New(slog.DiscardHandler))
	check(t, err)
	begun, end, ended := make(chan struct{}), make(chan struct{}), false
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{l}})
	env.RegisterActivityWithOptions(func(context.Context) error { close(begun); <-end; ended = true; return nil }, activity.RegisterOptions{Name: "Keep"})
	l.AwaitAttempts(time.Minute) // there is none
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := env.ExecuteActivity("Keep"); err != nil {
			t.Error(err)
		}
	})
	<-begun
	l.AwaitAttempts(time.Millisecond) // the wait has an end
	close(end)
	l.AwaitAttempts(time.Minute)
	if !ended {
		t.Error("the attempt is still under way")
	}
	wg.Wait()
}
