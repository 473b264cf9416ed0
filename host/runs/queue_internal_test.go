package runs

import (
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/store"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// Which hosts may do a run: all with the bucket and its policy for the sandbox, if it needs the disk of none.
func TestTheQueueOfARun(t *testing.T) {
	shared := t.TempDir()
	b, err := store.Open(t.Context(), "file://"+t.TempDir(), time.Second)
	if err == nil {
		err = rundir.Share(shared, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	const url, own = "https://git.example.com/shop.git", temporalclient.TaskQueue
	joined := temporalclient.QueueOf("laptop")
	for _, c := range []struct {
		what, runsDir, url, queue string
		sandbox                   run.Sandbox
		want                      string
	}{
		{"a URL", shared, url, own, "", "ratchet-pool"},
		{"a URL with the sandbox", shared, url, own, run.SandboxRequired, "ratchet-pool"},
		{"a URL without it", shared, url, own, run.SandboxOff, "ratchet-pool-off"},
		{"a URL, started on a joined host", shared, url, joined, "", "ratchet-pool"},
		{"a directory", shared, "", own, "", own},
		{"a URL without a bucket", t.TempDir(), url, own, "", own},
		{"a URL in a queue that the user has named", shared, url, "mine", "", "mine"},
	} {
		client := New(nil, c.queue)
		client.RunsDir = c.runsDir
		in := run.Input{Repository: run.Repository{URL: c.url}, Sandbox: c.sandbox}
		if got := client.startOptions(in, run.Created).TaskQueue; got != c.want {
			t.Errorf("%s: queue %s, want %s", c.what, got, c.want)
		}
		if got := client.OfHost(joined, "").startOptions(in, run.Created).TaskQueue; got != joined {
			t.Errorf("%s, bound to a host: queue %s, want %s", c.what, got, joined)
		}
	}
}
