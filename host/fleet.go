package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/attempts"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/store"
)

const (
	// beatEvery is how often a worker with a bucket reports itself to the engine.
	beatEvery = time.Second
	// silentFor is how long the engine has not heard of a worker that counts as dead.
	silentFor = 3 * beatEvery
	lookEvery = 500 * time.Millisecond
	// storePatience is how long a step waits for the bucket. A person is asked after that.
	storePatience = 10 * time.Minute
)

// openStore gives the runs directory the bucket that the environment names.
func (c Config) openStore(ctx context.Context) error {
	text, ok := c.lookup(store.Variable)
	if !ok || text == "" {
		return nil
	}
	b, err := store.Open(ctx, text, storePatience)
	if err == nil {
		err = b.Check(ctx)
	}
	if err != nil {
		return err
	}
	return rundir.Share(c.RunsDir, b)
}

// fleet lets the workers of several hosts with one bucket take each other's steps. As an interceptor it brings record and
// commits of a run to this host, and notes each attempt in the bucket. Start ends the attempts of workers of other hosts
// of whom the engine hears no more: a worker that was only stopped learns it from its next heartbeat, and what it finishes
// is refused.
type fleet struct {
	interceptor.WorkerInterceptorBase

	bucket    *store.Bucket // nil: there is none, and a fleet does nothing
	acts      *activities.Activities
	liveness  *Liveness
	namespace string
	identity  string

	seen map[string]sign // by identity
	last time.Time       // of the last look
}

// sign is when a worker was heard of.
type sign struct {
	beat time.Time // by its own clock
	at   time.Time // by this one, of the first look with that beat
	done bool      // its attempts have been ended
}

// hostOf returns the host in a worker's identity.
func hostOf(identity string) string {
	_, host, _ := strings.Cut(identity, "@")
	return host
}

func (f *fleet) noted(identity string) string {
	return path.Join("attempts", f.liveness.engine, identity) + "/"
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (f *fleet) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &attended{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, fleet: f}
}

type attended struct {
	interceptor.ActivityInboundInterceptorBase
	fleet *fleet
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (n *attended) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if n.fleet.bucket == nil || activity.GetInfo(ctx).IsLocalActivity {
		return n.Next.ExecuteActivity(ctx, in)
	}
	defer n.fleet.note(activity.GetInfo(ctx).TaskToken)()
	ctx, args, done, err := activities.Attend(ctx, n.fleet.acts, hostOf(n.fleet.identity), in.Args)
	if err != nil {
		return nil, err
	}
	in.Args = args
	out, err := n.Next.ExecuteActivity(ctx, in)
	if wrong := done(); err == nil && wrong != nil {
		return nil, wrong
	}
	return out, err
}

// note puts the attempt into the bucket until ended is called. The attempt does not wait for either: without its note the
// engine's timeouts find its loss.
func (f *fleet) note(token []byte) (ended func()) {
	key := f.noted(f.identity) + uuid.NewString()
	body, err := json.Marshal(attempts.Attempt{Engine: f.liveness.engine, Token: token, PID: os.Getpid(), Began: time.Now()})
	put := make(chan struct{})
	go func() {
		defer close(put)
		if err == nil {
			err = f.bucket.Put(context.Background(), key, body)
		}
		if err != nil {
			f.liveness.log.Warn("attempt not noted in the bucket", "error", err)
		}
	}()
	return func() {
		go func() {
			<-put
			_ = f.bucket.Delete(context.Background(), key) // the engine refuses its token
		}()
	}
}

// Start looks for silent workers until ctx ends or stop is called.
func (f *fleet) Start(ctx context.Context) (stop func()) {
	if f.bucket == nil {
		return func() {}
	}
	return lookRegularly(ctx, time.Tick(lookEvery), f.liveness.log, "look for silent workers", f.look)
}

// look asks the engine once, and ends the attempts of workers of other hosts that are silent. A look after a pause, of this
// process or of the engine, says nothing of the time before.
func (f *fleet) look(ctx context.Context) error {
	heard, err := f.beats(ctx)
	if err != nil {
		f.seen = nil
		return err
	}
	now := time.Now()
	if now.Sub(f.last) > beatEvery+lookEvery {
		f.seen = nil
	}
	f.last = now
	before := f.seen
	f.seen = make(map[string]sign, len(heard))
	for who, beat := range heard {
		s, known := before[who]
		if !known || !s.beat.Equal(beat) {
			s = sign{beat: beat, at: now}
		}
		if now.Sub(s.at) >= silentFor && !s.done && hostOf(who) != hostOf(f.identity) {
			if err := f.end(ctx, who); err != nil {
				f.seen[who] = s
				return err
			}
			s.done = true
		}
		f.seen[who] = s
	}
	return nil
}

// beats returns the last beat of each process that the engine knows as a worker.
func (f *fleet) beats(ctx context.Context) (map[string]time.Time, error) {
	asked, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	heard := map[string]time.Time{}
	for in := (&workflowservice.ListWorkersRequest{Namespace: f.namespace, PageSize: 1000}); ; {
		out, err := f.liveness.client.WorkflowService().ListWorkers(asked, in)
		if err != nil {
			return nil, fmt.Errorf("ask the engine for its workers: %w", err)
		}
		//lint:ignore SA1019 its successor leaves out the time of the beat
		for _, w := range out.GetWorkersInfo() {
			beat := w.GetWorkerHeartbeat()
			if at := beat.GetHeartbeatTime().AsTime(); at.After(heard[beat.GetWorkerIdentity()]) {
				heard[beat.GetWorkerIdentity()] = at
			}
		}
		if in.NextPageToken = out.GetNextPageToken(); len(in.NextPageToken) == 0 {
			return heard, nil
		}
	}
}

// end ends the attempts of a worker by their own tokens.
func (f *fleet) end(ctx context.Context, who string) error {
	keys, err := f.bucket.Keys(ctx, f.noted(who))
	for _, key := range keys {
		b, gone := f.bucket.Get(ctx, key)
		var a attempts.Attempt
		if gone != nil || json.Unmarshal(b, &a) != nil {
			continue // it has ended meanwhile
		}
		if err := f.liveness.report(ctx, a); err != nil {
			return err
		}
		if err := f.bucket.Delete(ctx, key); err != nil {
			return err
		}
	}
	return err
}
