package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
)

const attributePoll = 100 * time.Millisecond

// EnsureSearchAttributes registers the attributes of package attribute that the namespace lacks,
// and returns when the server knows them. Resolve returns the namespace of a client. A second call
// is a no-op. The error names the operator's command when the server does not let this client
// register them, or has one under another type.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	missing, err := missingAttributes(ctx, c, namespace)
	if _, none := errors.AsType[*serviceerror.NamespaceNotFound](err); none {
		return fmt.Errorf("namespace %s does not exist: create it with temporal operator namespace create --namespace %s, or configure another", namespace, namespace)
	}
	if err != nil {
		return fmt.Errorf("search attributes of namespace %s: %w", namespace, err)
	}
	if len(missing) > 0 {
		if err := addAttributes(ctx, c, namespace, missing); err != nil {
			return err
		}
	}
	if err := awaitAttributes(ctx, c, namespace); err != nil {
		return fmt.Errorf("wait for the search attributes of namespace %s: %w", namespace, err)
	}
	return nil
}

func missingAttributes(ctx context.Context, c client.Client, namespace string) (map[string]enums.IndexedValueType, error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	missing := attribute.Types()
	for name, want := range attribute.Types() {
		switch got, ok := have.GetCustomAttributes()[name]; {
		case ok && got != want:
			return nil, fmt.Errorf("%s is registered as %s, not %s: an operator must remove it first: "+
				"temporal operator search-attribute remove --namespace %s --name %s", name, got, want, namespace, name)
		case ok:
			delete(missing, name)
		}
	}
	return missing, nil
}

func addAttributes(ctx context.Context, c client.Client, namespace string, missing map[string]enums.IndexedValueType) error {
	_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: missing,
	})
	if _, ok := errors.AsType[*serviceerror.AlreadyExists](err); err == nil || ok {
		return nil
	}
	return fmt.Errorf("register search attributes: %w; an operator can: %s", err, operatorCommand(namespace, missing))
}

// ExplainMissing returns the error of a workflow's start, or of a list. It says what to do where the server lacks a search
// attribute, as it does after an upgrade until a worker of the same version has begun.
func ExplainMissing(err error) error {
	refused, ok := errors.AsType[*serviceerror.InvalidArgument](err)
	if !ok || !slices.ContainsFunc(slices.Collect(maps.Keys(attribute.Types())), func(name string) bool { return strings.Contains(refused.Message, name) }) {
		return err
	}
	return fmt.Errorf("%w: a worker of this version registers it; restart your worker", err)
}

func operatorCommand(namespace string, missing map[string]enums.IndexedValueType) string {
	var b strings.Builder
	fmt.Fprintf(&b, "temporal operator search-attribute create --namespace %s", namespace)
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(&b, " --name %s --type %s", name, missing[name])
	}
	return b.String()
}

// awaitAttributes repeats a query that names every attribute until the server's caches know all of
// them.
func awaitAttributes(ctx context.Context, c client.Client, namespace string) error {
	request := &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: allAttributes()}
	tick := time.NewTicker(attributePoll)
	defer tick.Stop()
	for {
		_, err := c.CountWorkflow(ctx, request)
		if _, unknown := errors.AsType[*serviceerror.InvalidArgument](err); !unknown {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func allAttributes() string {
	var terms []string
	for _, name := range slices.Sorted(maps.Keys(attribute.Types())) {
		terms = append(terms, name+" IS NOT NULL")
	}
	return strings.Join(terms, " AND ")
}
