package agent

import (
	"context"
	"fmt"
	"sync"
)

// CollectManifests asks all adapters for their manifests at once and keeps
// their order. It returns within ManifestTimeout: an adapter that has not
// answered by then gets the manifest of an agent that is not available, for
// that reason.
func CollectManifests(ctx context.Context, adapters []Adapter) []Manifest {
	ctx, cancel := context.WithTimeout(ctx, ManifestTimeout)
	defer cancel()
	list := make([]Manifest, len(adapters))
	var all sync.WaitGroup
	for i, a := range adapters {
		all.Go(func() { list[i] = readManifest(ctx, a) })
	}
	all.Wait()
	return list
}

// readManifest asks one adapter. It does not rely on the adapter to obey ctx.
func readManifest(ctx context.Context, a Adapter) Manifest {
	answer := make(chan Manifest, 1)
	go func() { answer <- a.Manifest(ctx) }()
	select {
	case m := <-answer:
		return m
	case <-ctx.Done():
	}
	select {
	case m := <-answer: // the answer came together with the end of ctx
		return m
	default:
		return MissingManifest(a.Kind(), string(a.Kind()), fmt.Sprintf("it did not answer within %v", ManifestTimeout))
	}
}
