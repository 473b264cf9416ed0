package temporalclient_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
)

func dial(t *testing.T, dir string) client.Client {
	t.Helper()
	isolate(t)
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSearchAttributesAreRegisteredOnce(t *testing.T) {
	f := &fakeServer{lag: 2, attributes: map[string]enums.IndexedValueType{
		"Foreign":            enums.INDEXED_VALUE_TYPE_BOOL,
		attribute.StatusName: enums.INDEXED_VALUE_TYPE_KEYWORD,
	}}
	c := dial(t, f.serveIn(t))
	for range 2 {
		if err := temporalclient.EnsureSearchAttributes(t.Context(), c, client.DefaultNamespace); err != nil {
			t.Fatal(err)
		}
	}
	want := attribute.Types()
	want["Foreign"] = enums.INDEXED_VALUE_TYPE_BOOL
	if !maps.Equal(f.attributes, want) {
		t.Errorf("registered: %v", f.attributes)
	}
	if f.added != 1 || f.lag != 0 {
		t.Errorf("registered %d times, %d queries short", f.added, f.lag)
	}
}

func TestSearchAttributesThatCannotBeRegistered(t *testing.T) {
	t.Run("the server lets only operators", func(t *testing.T) {
		f := &fakeServer{deny: true}
		err := temporalclient.EnsureSearchAttributes(t.Context(), dial(t, f.serveIn(t)), "team")
		if err == nil {
			t.Fatal("no error")
		}
		saysOnALine(t, err, "operators only", "temporal operator search-attribute create --namespace team",
			"--name RatchetIteration --type Int", "--name RatchetStatus --type Keyword")
	})
	t.Run("one has another type", func(t *testing.T) {
		f := &fakeServer{attributes: map[string]enums.IndexedValueType{attribute.PhaseName: enums.INDEXED_VALUE_TYPE_INT}}
		err := temporalclient.EnsureSearchAttributes(t.Context(), dial(t, f.serveIn(t)), "team")
		if err == nil {
			t.Fatal("no error")
		}
		saysOnALine(t, err, "RatchetPhase is registered as Int, not Keyword")
	})
	t.Run("the server never learns of them", func(t *testing.T) {
		f := &fakeServer{lag: 1 << 30, attributes: map[string]enums.IndexedValueType{}}
		c := dial(t, f.serveIn(t))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := temporalclient.EnsureSearchAttributes(ctx, c, "team")
		_, asking := errors.AsType[*serviceerror.DeadlineExceeded](err) // the time was over in a call
		if !errors.Is(err, context.DeadlineExceeded) && !asking {
			t.Errorf("error is %v", err)
		}
	})
}

func TestACallThatLacksAnAttributeSaysWhatToDo(t *testing.T) {
	lacks := serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute RatchetTitle")
	if err := temporalclient.ExplainMissing(lacks); !errors.Is(err, lacks) || !strings.Contains(err.Error(), "restart your worker") {
		t.Errorf("it says %v", err)
	}
	for _, other := range []error{nil, serviceerror.NewInvalidArgument("WorkflowId is not set"), errors.New("RatchetTitle")} {
		if err := temporalclient.ExplainMissing(other); err != other {
			t.Errorf("%v became %v", other, err)
		}
	}
}

func TestSearchAttributesOnTheEngine(t *testing.T) {
	e, err := engine.Start(t.Context(), engine.Options{
		DB:       filepath.Join(t.TempDir(), "engine.db"),
		Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Stop(t.Context()) })
	dir := filepath.Dir(e.DB)
	if err := engine.WriteFile(dir, engine.File{Address: e.Address, API: e.API}); err != nil {
		t.Fatal(err)
	}
	c := dial(t, dir)

	t.Run("a new database has them", func(t *testing.T) {
		have, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: client.DefaultNamespace})
		if err != nil || !maps.Equal(have.GetCustomAttributes(), attribute.Types()) {
			t.Errorf("it has %v, %v", have.GetCustomAttributes(), err)
		}
	})
	t.Run("another namespace gets them", func(t *testing.T) {
		_, err := c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace:                        "team",
			WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := temporalclient.EnsureSearchAttributes(t.Context(), c, "team"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
