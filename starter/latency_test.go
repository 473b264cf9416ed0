package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/home"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// percentile returns the p-th percentile in milliseconds.
func percentile(list []time.Duration, p int) float64 {
	slices.Sort(list)
	return float64(list[(len(list)-1)*p/100]) / float64(time.Millisecond)
}

// approving approves every patch at once.
type approving struct{}

func (approving) Approve(_ context.Context, a run.PendingApproval) (run.Decision, error) {
	return run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve}, nil
}

func (approving) Answer(context.Context, run.PendingQuestion) (run.Reply, error) {
	return run.Reply{}, follow.ErrUnanswered
}

// BenchmarkEventToScreen follows whole runs, and measures from the time of each event, which is that of the
// workflow task that made it, to the line on the screen.
func BenchmarkEventToScreen(b *testing.B) {
	runsDir := filepath.Join(b.TempDir(), ".runs")
	bringUp(b, runsDir)
	repo, dir := clitest.Repository(b), answers(b)
	c := newFactory(console.Console{In: nil, Out: io.Discard, Err: io.Discard, Environ: os.Environ(), Now: time.Now, Screen: true})
	c.RunsDir, c.Queue = runsDir, "ratchet"
	client, closeClient, err := c.Dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer closeClient()
	var late []time.Duration
	for i := range b.N {
		id := fmt.Sprint("run-", i)
		begun := time.Now()
		got := starter(b.Context(), "", "run", "--runs-dir", runsDir, "--sandbox", "off", "--repo", repo, "--goal", "Make it good", "--provider", "replay:"+dir, "--check", "sleep 0.3; "+passes, "--id", id, "--detach")
		if got.code != 0 {
			b.Fatalf("%d: %s", got.code, got.err)
		}
		f := follow.New(c, c.ScreenOn(c.Out), runref.Found{Client: client, ID: run.ID(id)})
		following, stop := context.WithCancel(b.Context())
		f.Changes, f.Decider = client.Changes(following, f.ID), approving{}
		attached := time.Now()
		next := f.Print
		f.Print = func(e run.Event) error {
			err := next(e)
			if e.TS.After(attached) { // the others came before there was a screen
				late = append(late, time.Since(e.TS))
			}
			return err
		}
		if status, err := f.Follow(b.Context()); err != nil || status != run.Completed {
			b.Fatalf("%s, %v after %v", status, err, time.Since(begun))
		}
		stop()
	}
	if len(late) == 0 {
		b.Fatal("no event came while the run was followed")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(late))/float64(b.N), "events/run")
	b.ReportMetric(percentile(late, 50), "p50-ms")
	b.ReportMetric(percentile(late, 95), "p95-ms")
}

// boardPace is the time between two openings. The engine answers ten lists in a second, of which each opening asks
// for two, and holds back what comes faster.
const boardPace = 300 * time.Millisecond

// thousandRuns returns a client of an engine that has 1,000 runs, and the runs directory.
func thousandRuns(b *testing.B) (*runs.Client, string) {
	b.Helper()
	runsDir := filepath.Join(b.TempDir(), ".runs")
	bringUp(b, runsDir)
	c := newFactory(console.Console{Out: io.Discard, Err: io.Discard, Environ: os.Environ(), Now: time.Now})
	c.RunsDir, c.Queue = runsDir, "served-by-no-worker"
	client, closeClient, err := c.Dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(closeClient)
	for i := range 1000 {
		in := run.Input{
			RunID: run.ID(fmt.Sprintf("run-%04d", i)), Goal: "Make the failing test pass", Repository: run.Repository{Path: "/src/shop", Base: "b"},
			Providers: run.Providers{Planner: "replay:x", Developer: "replay:x", Fixer: "replay:x"}, Policy: run.Always,
		}
		if err := client.Start(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
	return client, runsDir
}

// BenchmarkPageOfAThousandRuns opens the review page's queue where the engine has 1,000 runs, to the last byte.
func BenchmarkPageOfAThousandRuns(b *testing.B) {
	client, runsDir := thousandRuns(b)
	server, err := review.Start(review.Config{Address: "127.0.0.1:0"}, client, review.NewDisk(runsDir))
	if err != nil {
		b.Fatal(err)
	}
	defer server.Stop()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	ask := func(method, path, body string) string {
		req, err := http.NewRequestWithContext(b.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Origin", server.URL)
		resp, err := browser.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			b.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
		}
		return string(page)
	}
	_, code, _ := strings.Cut(server.Place().Login("kim", "", time.Now()), "#")
	ask(http.MethodPost, "/login", code)
	var took []time.Duration
	pace := time.NewTicker(boardPace)
	defer pace.Stop()
	for b.Loop() {
		<-pace.C
		begun := time.Now()
		if page := ask(http.MethodGet, "/", ""); strings.Count(page, `class="row"`) < 200 {
			b.Fatalf("the page lists %d runs", strings.Count(page, `class="row"`))
		}
		took = append(took, time.Since(begun))
	}
	b.ReportMetric(percentile(took, 50), "p50-ms")
	b.ReportMetric(percentile(took, 95), "p95-ms")
}

// BenchmarkBoardOfAThousandRuns opens the board where the engine has 1,000 runs, to its first drawing.
func BenchmarkBoardOfAThousandRuns(b *testing.B) {
	client, _ := thousandRuns(b)
	screen := &board.Board{Style: terminal.Colors(true)}
	var took []time.Duration
	pace := time.NewTicker(boardPace)
	defer pace.Stop()
	for b.Loop() {
		<-pace.C
		begun := time.Now()
		rows, err := home.Rows(b.Context(), client)
		if err != nil {
			b.Fatal(err)
		}
		screen.SetRows(rows)
		if lines := screen.Draw("ratchet", time.Now(), 110, 40); len(rows) < home.MostOpen || len(lines) != 40 {
			b.Fatalf("%d rows, %d lines", len(rows), len(lines))
		}
		took = append(took, time.Since(begun))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(percentile(took, 50), "p50-ms")
	b.ReportMetric(percentile(took, 95), "p95-ms")
}
