package activities_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// newGoProxy serves the module dep.example/dep, version v1.2.3, as a Go module proxy does.
func newGoProxy(t *testing.T) *httptest.Server {
	t.Helper()
	var module bytes.Buffer
	files := map[string]string{"go.mod": "module dep.example/dep\n", "dep.go": "package dep\n\nconst Answer = 42\n"}
	archive := zip.NewWriter(&module)
	for name, text := range files {
		w, err := archive.Create("dep.example/dep@v1.2.3/" + name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, text)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	info := `{"Version":"v1.2.3","Time":"2026-01-02T03:04:05Z"}`
	answers := map[string]string{
		"@v/list": "v1.2.3\n", "@latest": info, "@v/v1.2.3.info": info, "@v/v1.2.3.mod": files["go.mod"], "@v/v1.2.3.zip": module.String(),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[strings.TrimPrefix(r.URL.Path, "/dep.example/dep/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

// A check downloads a module from the registry that the worker's environment names. Without a network
// it does not, and with another target neither.
func TestACheckReachesWhatTheRunNames(t *testing.T) {
	goRoot, err := exec.CommandContext(t.Context(), need.Program(t, "go"), "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	registry, other := newGoProxy(t), newGoProxy(t)
	environ := map[string]string{
		"PATH": strings.TrimSpace(string(goRoot)) + "/bin:/usr/bin:/bin", "GOPROXY": registry.URL, "GOSUMDB": "off", "GOFLAGS": "-modcacherw",
	}
	s := newFixtureWith(t, "runs", inBox(t), func(c *activities.Config) {
		c.LookupEnv = func(name string) (string, bool) { value, ok := environ[name]; return value, ok }
	})
	s.prepare()
	address := func(r *httptest.Server) string { return r.Listener.Addr().String() }
	command := `mkdir "$HOME/$$" && cd "$HOME/$$" && go mod init x && GOMODCACHE="$PWD/mod" go get dep.example/dep`
	check := func(command string, network ...string) (activities.Judgement, activities.Evaluation) {
		j := must[activities.Judgement](s, s.acts.Check, activities.CheckInput{
			Header: s.place(), Iteration: 1, Commit: s.base, Commands: []string{command}, Timeout: time.Minute,
			Env: []string{"PATH", "GOFLAGS"}, Network: network,
		})
		return j, s.evaluation(j)
	}
	j, e := check(command, "registry:go")
	if j.Verdict != run.Pass || e.Network == nil || len(e.Network.Reached) != 1 || e.Network.Reached[address(registry)] == 0 ||
		!strings.HasPrefix(j.Network, "reached "+address(registry)+", ") {
		t.Errorf("with the registry: %s, %q: %+v", j.Verdict, j.Network, e)
	}
	for name, network := range map[string][]string{"no network": nil, "another registry": {address(other)}} {
		j, e := check("GOSUMDB=off GOPROXY="+registry.URL+" && export GOSUMDB GOPROXY && "+command, network...)
		want := run.Fixable
		if network == nil { // a person is told how to give it the module
			want = run.Blocked
		}
		if j.Verdict != want || (e.Network == nil) != (network == nil) || e.Network != nil && e.Network.Reached != nil {
			t.Errorf("%s: %s, %q: %+v", name, j.Verdict, j.Network, e)
		}
	}
	proxied := "curl -fsS http://name.example/ || curl -fsS --noproxy '*' " + registry.URL
	if j, e := check(proxied, address(other)); j.Verdict != run.Fixable || j.Network != "reached nothing; refused 1" || e.Network.RefusedCount() != 1 {
		t.Errorf("refused: %s, %q: %+v", j.Verdict, j.Network, e)
	}
}

func TestANetworkThatTheWorkerCannotMake(t *testing.T) {
	s := newFixtureWith(t, "runs", func(c *activities.Config) {
		c.LookupEnv = func(name string) (string, bool) { return "http://se cret/", name == "GOPROXY" }
	})
	s.prepare()
	_, err := do[activities.Judgement](s, s.acts.Check, activities.CheckInput{
		Header: s.place(), Iteration: 1, Commit: s.base, Commands: []string{"true"}, Timeout: time.Minute, Network: []string{"registry:go"},
	})
	if err == nil || !strings.Contains(err.Error(), "registry:go: the environment names a registry: not a URL") {
		t.Errorf("got %v", err)
	}
}
