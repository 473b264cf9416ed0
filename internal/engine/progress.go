package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	liveReport  = 200 * time.Millisecond // between two states of the line on a terminal
	plainReport = time.Second            // at least, between two lines
	silence     = 10 * time.Second       // after which a line is due although nothing is done
	barWidth    = 20
)

// tracker reports how much of a build is done.
type tracker struct {
	builder
	out   *buildOutput
	begin time.Time
	total int // packages to compile; zero: not known

	told string // the plain state that was said last
	at   time.Time
}

// trackProgress reports the progress of a command until stop is called.
func (b builder) trackProgress(out *buildOutput, total int) (stop func()) {
	t := &tracker{builder: b, out: out, begin: time.Now(), at: time.Now(), total: total}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(t.interval())
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				t.report()
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
		if b.live != nil {
			b.live("")
		}
	}
}

func (t *tracker) interval() time.Duration {
	if t.live != nil {
		return liveReport
	}
	return plainReport
}

// report shows the state on a terminal, and else says it once for each hundredth of the build.
func (t *tracker) report() {
	fetched, compiled := t.out.counts()
	since := time.Since(t.begin).Round(time.Second)
	if t.live != nil {
		t.live(fmt.Sprintf("%s %s, %v", progressBar(compiled, t.total), describeShare(fetched, compiled, t.total), since))
		return
	}
	key := fmt.Sprint(percent(compiled, t.total))
	if key == t.told && time.Since(t.at) < silence {
		return
	}
	t.told, t.at = key, time.Now()
	t.say("engine: %s, %v", describeShare(fetched, compiled, t.total), since)
}

// describeShare returns the share that is built.
func describeShare(fetched, compiled, total int) string {
	switch {
	case total == 0 && compiled == 0:
		return fmt.Sprintf("%d modules fetched", fetched)
	case total == 0:
		return fmt.Sprintf("%d packages compiled", compiled)
	case compiled >= total:
		return fmt.Sprintf("%d packages compiled, linking", total)
	}
	return fmt.Sprintf("%d of %d packages compiled", compiled, total)
}

// progressBar returns the picture of a share.
func progressBar(done, total int) string {
	full := percent(done, total) * barWidth / 100
	return "engine [" + strings.Repeat("#", full) + strings.Repeat("-", barWidth-full) + "]"
}

// percent returns a whole share of a hundred; zero of nothing.
func percent(done, total int) int {
	if total == 0 {
		return 0
	}
	return min(100*done/total, 100)
}

// countStale fetches missing modules and returns how many packages the build has to compile. Zero means that
// the go command did not say; the build then says why.
func (b builder) countStale(ctx context.Context) int {
	out := &buildOutput{}
	var list bytes.Buffer
	cmd := b.goCommand(ctx, "list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}")
	cmd.Stdout, cmd.Stderr = &list, out
	stop := b.trackProgress(out, 0)
	err := cmd.Run()
	stop()
	if err != nil {
		return 0
	}
	return len(strings.Fields(list.String()))
}
