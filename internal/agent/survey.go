package agent

import (
	"context"
	"fmt"
	"sync"
)

// Survey asks all adapters for their manifests at once and keeps their order.
// It returns within ManifestTimeout: who has not answered by then is not
// available, for that reason.
func Survey(ctx context.Context, adapters []Adapter) []Manifest {
	ctx, cancel := context.WithTimeout(ctx, ManifestTimeout)
	defer cancel()
	list := make([]Manifest, len(adapters))
	var all sync.WaitGroup
	for i, a := range adapters {
		all.Go(func() { list[i] = ask(ctx, a) })
	}
	all.Wait()
	return list
}

// ask does not rely on the adapter to obey ctx.
func ask(ctx context.Context, a Adapter) Manifest {
	answer := make(chan Manifest, 1)
	go func() { answer <- a.Manifest(ctx) }()
	select {
	case m := <-answer:
		return m
	case <-ctx.Done():
	}
	select {
	case m := <-answer: // it came with the end of ctx
		return m
	default:
		return Missing(a.Kind(), string(a.Kind()), fmt.Sprintf("it did not say what it is within %v", ManifestTimeout))
	}
}
