package workflows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/redacttest"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// secretsFixture is a real engine whose workers hold the canaries and have the real
// activities, and all that an onlooker could see of it.
type secretsFixture struct {
	*testEngine
	t       *testing.T
	runsDir string
	repo    string
	base    run.Commit
	acts    *activities.Activities

	mu   sync.Mutex
	seen map[string][]byte // by where
}

func newSecretsFixture(t *testing.T) *secretsFixture {
	t.Helper()
	v := &secretsFixture{t: t, runsDir: t.TempDir(), repo: t.TempDir(), seen: map[string][]byte{}}
	v.testEngine = &testEngine{temporaltest.StartEngine(t, slog.New(slog.NewTextHandler(v.writer("worker's log"), nil)))}
	v.git("init", "-q", "-b", "main")
	v.git("commit", "-q", "--allow-empty", "-m", "first")
	v.base = run.Commit(v.git("rev-parse", "HEAD"))
	h, err := host.Open(t.Context(), host.Config{RunsDir: v.runsDir, Environ: leakyEnviron(), ProviderEnv: canaryNames, Sandbox: run.SandboxOff})
	if err != nil {
		t.Fatal(err)
	}
	v.acts = h.Activities
	return v
}

// unguarded has the same activities without any redaction.
func (v *secretsFixture) unguarded() *activities.Activities {
	v.t.Helper()
	runs, err := rundir.Open(v.t.Context(), v.runsDir)
	if err != nil {
		v.t.Fatal(err)
	}
	env := leakyEnviron()
	acts, err := activities.New(activities.Config{
		Runs: runs, Redact: &redact.Redactor{}, Agents: session.NewPool(0), Survey: noAgents, Probe: noProblem,
		Sandbox: activities.Sandbox{Policy: run.SandboxOff},
		Open: func(o activities.Opening) (provider.Provider, error) {
			spec, err := catalog.Parse(o.Spec)
			if err != nil {
				return nil, err
			}
			return spec.Open(catalog.Env{Dir: o.Dir, Environ: env, Allow: canaryNames, Log: o.Log})
		},
		LookupEnv: func(name string) (string, bool) {
			i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
			if i < 0 {
				return "", false
			}
			return env[i][len(name)+1:], true
		},
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return acts
}

func (v *secretsFixture) git(args ...string) string {
	v.t.Helper()
	return gittest.Run(v.t, v.repo, args...)
}

// writer adds to what is seen at a place.
func (v *secretsFixture) writer(where string) io.Writer { return &place{v, where} }

type place struct {
	secretsFixture *secretsFixture
	where          string
}

func (p *place) Write(b []byte) (int, error) {
	p.secretsFixture.mu.Lock()
	defer p.secretsFixture.mu.Unlock()
	p.secretsFixture.seen[p.where] = append(p.secretsFixture.seen[p.where], b...)
	return len(b), nil
}

func (v *secretsFixture) see(where string, m proto.Message) {
	v.t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		v.t.Fatal(err)
	}
	fmt.Fprintf(v.writer(where), "%s\n", b)
}

// secretsRun is one run in a secretsFixture.
type secretsRun struct {
	*testRun
	secretsFixture *secretsFixture
}

func (v *secretsFixture) enter(name string, acts *activities.Activities, change func(*run.Input)) secretsRun {
	v.t.Helper()
	spec := "command:" + program(leakyProvider)
	in := run.Input{
		RunID: run.ID(name), Goal: "keep quiet", Policy: run.Never, Sandbox: run.SandboxOff,
		Checks: []string{program(leakyCheck, "pass")}, CheckEnv: canaryNames,
		Repository: run.Repository{Path: v.repo, Base: v.base},
		Providers:  run.Providers{Planner: spec, Developer: spec, Fixer: spec, Dir: v.t.TempDir()},
	}
	if change != nil {
		change(&in)
	}
	p := v.perform(v.t, in)
	p.serve(func(w worker.Registry) { workflows.Register(w, acts) })
	return secretsRun{p, v}
}

// look sees what the engine tells of the run while it is under way.
func (o secretsRun) look() {
	o.t.Helper()
	d, err := temporalclient.Describe(o.t.Context(), o.Client, o.id, "")
	if err != nil {
		o.t.Fatal(err)
	}
	o.secretsFixture.see(o.id+" described", d)
	for _, q := range []string{workflows.StateQuery, workflows.EventsQuery, workflows.PendingQuery, workflows.FactsQuery} {
		var b json.RawMessage
		o.ask(q, &b)
		fmt.Fprintf(o.secretsFixture.writer(o.id+" asked for "+q), "%s\n", b)
	}
	var details sdk.WorkflowMetadata
	o.ask("__temporal_workflow_metadata", &details)
	o.secretsFixture.see(o.id+" details", &details)
}

func (o secretsRun) ask(query string, to any) {
	o.t.Helper()
	value, err := o.Client.QueryWorkflow(o.t.Context(), o.id, "", query)
	if err == nil {
		err = value.Get(to)
	}
	if err != nil {
		o.t.Fatalf("%s: %v", query, err)
	}
}

// leave waits for the run's end and sees its history.
func (o secretsRun) leave(want run.Status) {
	o.t.Helper()
	if got := o.status(); got != want {
		o.t.Errorf("%s is %s, want %s", o.id, got, want)
	}
	o.look()
	for _, h := range o.histories() {
		o.secretsFixture.see(o.id+" history", h)
	}
}

// beats waits for a heartbeat that tells of output.
func (o secretsRun) beats() {
	o.t.Helper()
	o.until("a heartbeat tells of output", func() bool {
		d, err := temporalclient.Describe(o.t.Context(), o.Client, o.id, "")
		if err != nil {
			return false
		}
		for _, a := range d.GetPendingActivities() {
			if a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED && strings.Contains(a.GetHeartbeatDetails().String(), "tail") {
				return true
			}
		}
		return false
	})
}

// searchDisk sees the runs directory, the repository and the engine's files.
func (v *secretsFixture) searchDisk() {
	v.t.Helper()
	for where, dir := range map[string]string{"runs directory": v.runsDir, "engine": filepath.Dir(v.DB)} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			fmt.Fprintf(v.writer(where+": "+name), "%s\n%s", name, b)
			return err
		})
		if err != nil {
			v.t.Fatal(err)
		}
	}
	fmt.Fprint(v.writer("repository"), v.git("log", "--all", "-p", "--format=%B"))
}

// leaked says which forms of a secret were seen where.
func (v *secretsFixture) leaked() map[string][]string {
	found := map[string][]string{}
	for where, b := range v.seen {
		if forms := redacttest.Find(b, core); forms != nil {
			found[where] = forms
		}
	}
	return found
}

// TestSecretsStayInTheWorker takes a run down every path with providers and
// checks that shout out 30 secrets, and looks for them everywhere.
func TestSecretsStayInTheWorker(t *testing.T) {
	t.Parallel()
	v := newSecretsFixture(t)
	withEvaluator := func(in *run.Input) { in.Providers.Evaluator = in.Providers.Planner }
	fails := func(in *run.Input) { in.Checks, in.MaxFix = []string{program(leakyCheck, "fail")}, new(int) }
	asksFirst := func(in *run.Input) { in.Policy = run.Always }

	completed := v.enter("completed", v.acts, withEvaluator)
	failed := v.enter("failed", v.acts, fails)
	erring := v.enter("provider-error", v.acts, nil)
	asking := v.enter("question", v.acts, nil)
	rejected := v.enter("rejected", v.acts, asksFirst)
	canceled := v.enter("canceled", v.acts, nil)

	canceled.beats()
	canceled.look()
	canceled.cancel()
	asking.question()
	asking.look()
	asking.reply("it is")
	rejected.approval()
	rejected.look()
	rejected.settle(run.Reject, true)
	erring.question()
	erring.look()
	erring.reply("mended")

	canceled.leave(run.Canceled)
	completed.leave(run.Completed)
	failed.leave(run.Failed)
	asking.leave(run.Completed)
	rejected.leave(run.Canceled)
	erring.leave(run.Completed)
	v.searchDisk()
	for where, forms := range v.leaked() {
		t.Errorf("%s holds a secret: %q", where, forms)
	}
	v.control()
}

// control does without redaction: the search must then find every form, and in
// all kinds of places.
func (v *secretsFixture) control() {
	t := v.t
	v.seen = map[string][]byte{}
	c := v.enter("control", v.unguarded(), func(in *run.Input) { in.Policy = run.Always })
	c.approval()
	c.look()
	c.settle(run.Approve, false)
	c.leave(run.Completed)
	v.searchDisk()
	found := v.leaked()
	forms := map[string]bool{}
	for _, f := range found {
		for _, form := range f {
			forms[form] = true
		}
	}
	places := slices.Sorted(maps.Keys(found))
	for _, name := range canaryNames {
		if !bytes.Contains(v.seen["runs directory: workflows/control/artifacts/plan/iter-0001.raw.txt"], []byte(canary(name))) {
			t.Errorf("without redaction %s is not found", name)
		}
	}
	t.Logf("without redaction: %d forms in %d places: %q", len(forms), len(places), places)
	for _, want := range []string{"raw", "json", "json: json", "url", "hex", "base64"} {
		if !forms[want] {
			t.Errorf("without redaction nothing is found in the form %s", want)
		}
	}
	for _, want := range []string{"run-control history", "run-control asked for pending", "run-control details", "runs directory: ", "engine: ", "repository"} {
		if !slices.ContainsFunc(places, func(where string) bool { return strings.HasPrefix(where, want) }) {
			t.Errorf("without redaction nothing is found in %s", want)
		}
	}
}

// TestChecksSeeTheListedVariablesOnly runs a check that prints its environment.
func TestChecksSeeTheListedVariablesOnly(t *testing.T) {
	v := newSecretsFixture(t)
	c := v.enter("environment", v.acts, func(in *run.Input) {
		in.Checks, in.CheckEnv = []string{"exec " + program(leakyCheck, "names")}, []string{"HARMLESS"}
	})
	c.leave(run.Completed)
	v.searchDisk()
	report := string(v.seen["runs directory: workflows/environment/artifacts/evaluate/iter-0001.json"])
	want := []string{"CI", "HARMLESS", "HOME", "LANG", "LOGNAME", "PATH", "PWD", "RATCHET_RUN_ID", "TERM", "TMPDIR", "USER", "XDG_CACHE_HOME"}
	if quotedNames := strings.Trim(quoted(strings.Join(want, "\n")+"\n"), `"`); !strings.Contains(report, `"head": "`+quotedNames+`"`) {
		t.Errorf("the check saw other variables than %s:\n%s", want, bytes.TrimSpace([]byte(report)))
	}
}

func noAgents(context.Context) []agent.Manifest { return nil }

func noProblem(context.Context, activities.Opening) error { return nil }
