package proc

import (
	"context"
	"os"
	"slices"
)

type keptKey struct{}

// Keep returns a context whose programs keep f open until they and everything that they started are
// gone. None of them can see it. A file lock of ours on f is held until then, even if we are
// killed. Where there is no supervisor it is held until the program's process group is gone.
func Keep(ctx context.Context, f *os.File) context.Context {
	return context.WithValue(ctx, keptKey{}, append(slices.Clip(kept(ctx)), f))
}

func kept(ctx context.Context) []*os.File {
	files, _ := ctx.Value(keptKey{}).([]*os.File)
	return files
}
