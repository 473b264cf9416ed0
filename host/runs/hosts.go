package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// HostView is a host whose worker serves the engine, or that has joined it.
type HostView struct {
	Name  string `json:"name"`
	Queue string `json:"taskQueue"`
	// Home says that the host is the engine's own machine.
	Home bool `json:"home"`
	// Serving says that a worker has reported lately; Seen is when, by the engine's clock.
	Serving bool      `json:"serving"`
	Seen    time.Time `json:"seen,omitzero"`
	Running int       `json:"running"` // steps of runs and other activities
	Slots   int       `json:"slots"`   // how many it takes at once
	// Pool says that it serves the runs of all hosts: it has the bucket of their records.
	Pool bool `json:"pool"`
	// Joined is when a host has joined, and Survey what it said then, or at the last start of its worker.
	Joined time.Time     `json:"joined,omitzero"`
	Skew   string        `json:"clockSkew,omitempty"`
	Survey *hosts.Survey `json:"survey,omitempty"`
}

// silentAfter is the age of a worker's last report at which it counts as away.
const silentAfter = 5 * temporalclient.WorkerHeartbeat

// Hosts returns the hosts that serve the engine by Ratchet's usual queues, and those that have joined this machine and are
// away, by their names.
func (c *Client) Hosts(ctx context.Context) ([]HostView, error) {
	book := hosts.Book{}
	if c.RunsDir != "" {
		var err error
		if book, err = hosts.Read(c.RunsDir); err != nil {
			return nil, err
		}
	}
	var list []HostView
	for _, h := range book.Hosts {
		list = append(list, HostView{
			Name: h.Name, Queue: temporalclient.QueueOf(h.Name), Joined: h.Joined, Seen: h.Seen, Skew: hosts.DescribeSkew(h.Skew), Survey: &h.Survey,
		})
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	service, namespace := c.temporal.WorkflowService(), cmp.Or(c.Namespace, client.DefaultNamespace)
	found, err := service.ListWorkers(ctx, &workflowservice.ListWorkersRequest{Namespace: namespace, PageSize: 1000})
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	workers := found.GetWorkers()
	slices.SortStableFunc(workers, func(a, b *worker.WorkerListInfo) int { // the part of a worker that serves a pool comes behind it
		return strings.Compare(partOf(a), partOf(b))
	})
	for _, w := range workers {
		_, name, _ := strings.Cut(w.GetWorkerIdentity(), "@")
		queue := w.GetTaskQueue()
		home, pool := queue == temporalclient.TaskQueue, partOf(w) != ""
		if name == "" || !home && !pool && queue != temporalclient.QueueOf(name) {
			continue
		}
		i := slices.IndexFunc(list, func(h HostView) bool { return h.Name == name && (h.Queue == queue || pool) })
		if i < 0 && (pool || !home && book.Listen != "") { // it was removed, and the server has not forgotten it
			continue
		}
		d, err := service.DescribeWorker(ctx, &workflowservice.DescribeWorkerRequest{Namespace: namespace, WorkerInstanceKey: w.GetWorkerInstanceKey()})
		if err != nil {
			continue // it has ended meanwhile
		}
		if i < 0 {
			i, list = len(list), append(list, HostView{Name: name, Queue: queue, Home: home})
		}
		beat, slots := d.GetWorkerInfo().GetWorkerHeartbeat(), d.GetWorkerInfo().GetWorkerHeartbeat().GetActivityTaskSlotsInfo()
		running := int(slots.GetCurrentUsedSlots())
		all := running + int(slots.GetCurrentAvailableSlots())
		if pool {
			list[i].Pool, all = true, 0 // counted with the other part
		}
		list[i].add(beat.GetHeartbeatTime().AsTime().Add(-skewOf(book, name)), running, all)
	}
	slices.SortFunc(list, func(a, b HostView) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// partOf returns the pool that a part of a worker serves; empty: it serves the queue of its host.
func partOf(w *worker.WorkerListInfo) string {
	if temporalclient.IsPool(w.GetTaskQueue()) {
		return w.GetTaskQueue()
	}
	return ""
}

// add adds a worker of the host, which reported at a time.
func (h *HostView) add(at time.Time, running, slots int) {
	if at.After(h.Seen) {
		h.Seen = at
	}
	if time.Since(at) < silentAfter {
		h.Serving, h.Running, h.Slots = true, h.Running+running, h.Slots+slots
	}
}

// skewOf returns how far the clock of a host was ahead of this machine's, with which it stamps its reports.
func skewOf(book hosts.Book, name string) time.Duration {
	for _, h := range book.Hosts {
		if h.Name == name {
			return h.Skew
		}
	}
	return 0
}

// DescribeJoined says in one line what the hosts that have joined this machine do; empty: none has, or the engine does not
// answer.
func (c *Client) DescribeJoined(ctx context.Context, now time.Time) string {
	book, err := hosts.Read(c.RunsDir)
	if err != nil || len(book.Hosts) == 0 { // the engine is asked about each worker: screens do so only if there is one to show
		return ""
	}
	list, err := c.Hosts(ctx)
	if err != nil {
		return ""
	}
	var parts []string
	for _, h := range list {
		if !h.Home {
			parts = append(parts, h.Name+" "+h.State(now))
		}
	}
	return "hosts: " + strings.Join(parts, ", ")
}

// State says how busy the host is, or since when it is away.
func (h HostView) State(now time.Time) string {
	switch {
	case h.Serving:
		return fmt.Sprintf("%d of %d running", h.Running, h.Slots)
	case h.Seen.IsZero():
		return "away"
	}
	return fmt.Sprintf("away for %v", max(now.Sub(h.Seen), 0).Round(time.Second))
}

// OpenAt returns the number of open runs that one host does.
func (c *Client) OpenAt(ctx context.Context, name string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := c.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = 'Run' AND ExecutionStatus = 'Running' AND TaskQueue = '%s'", temporalclient.QueueOf(name)),
	})
	return int(found.GetCount()), err
}

// onHostOf returns a client of the host that does a run; c itself if the engine does not know the run.
func (c *Client) onHostOf(ctx context.Context, id run.ID) *Client {
	d, err := temporalclient.Describe(ctx, c.temporal, id.WorkflowID(), "")
	if err != nil {
		return c
	}
	return c.OfHost(d.GetWorkflowExecutionInfo().GetTaskQueue(), "")
}

// OfHost returns a client of the runs of one host. The runs that it starts are on a repository at that path of the host.
func (c *Client) OfHost(queue, repository string) *Client {
	there := *c
	there.queue, there.repository, there.pinned = queue, repository, true
	return &there
}
