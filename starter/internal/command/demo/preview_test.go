package demo

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// preparedDemo is a demo whose sample is there. Its output is in shown.
func preparedDemo(t *testing.T, prepare func(context.Context, engine.Options) error) (d *demo, shown *captured.Output) {
	t.Helper()
	shown = &captured.Output{}
	c := factory.New(console.Console{In: strings.NewReader(""), Out: shown, Err: shown, Environ: os.Environ(), Now: time.Now}, nil)
	d = &demo{Factory: c, screen: c.ScreenOn(c.Out), prepare: prepare}
	clitest.Must(t, d.prepareSample(t.Context(), t.TempDir()))
	return d, shown
}

// The preview is whole while the engine is still being built.
func TestTheDemoShowsThePreviewDuringABuild(t *testing.T) {
	t.Parallel()
	built := errors.New("built")
	var shown *captured.Output
	d, shown := preparedDemo(t, func(ctx context.Context, o engine.Options) error {
		for range 2 {
			o.Progress("building the engine")
		}
		if text, ok := shown.Await(ctx, func(shown string) bool { return strings.Contains(shown, "Next, when the engine is there") }); !ok {
			t.Errorf("the preview is not shown: %s", text)
		}
		return built
	})
	if err := d.prepareEngine(t.Context()); !errors.Is(err, built) {
		t.Errorf("error %v, want that of the build", err)
	}
	text := shown.String()
	for _, want := range []string{"func Split(total, people int) []int {", "--- FAIL: TestSharesAddUp", "100 cents for 3 people: the shares add up to 99", "# Give the lost cents to somebody"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the preview shows %q %d times, want once:\n%s", want, strings.Count(text, want), text)
		}
	}
	if left := clitest.Git(t, d.repo, "status", "--short"); left != "" {
		t.Errorf("the preview leaves %s in the sample", left)
	}
}

func TestTheDemoWithABuiltEngineHasNoPreview(t *testing.T) {
	d, shown := preparedDemo(t, func(context.Context, engine.Options) error { return nil })
	if err := d.prepareEngine(t.Context()); err != nil || shown.String() != "" {
		t.Errorf("error %v, shown %q, want nothing", err, shown.String())
	}
}
