package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// asTemporal makes the test binary a stand-in for Temporal's command line, whose build needs the whole server. It reads the
// standard variables by the same library and sends the same signal.
const asTemporal = "RATCHET_TEST_AS_TEMPORAL"

// temporalVariable names the real one, where there is one.
const temporalVariable = "TEMPORAL_CLI"

func signalAsTemporal(args []string) int {
	flags := flag.NewFlagSet("temporal workflow signal", flag.ExitOnError)
	workflow, name, input := flags.String("workflow-id", "", ""), flags.String("name", "", ""), flags.String("input", "", "")
	if len(args) < 2 || args[0] != "workflow" || args[1] != "signal" || flags.Parse(args[2:]) != nil {
		return 2
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err == nil {
		var c client.Client
		if c, err = client.Dial(options); err == nil {
			defer c.Close()
			err = c.SignalWorkflow(context.Background(), *workflow, "", *name, json.RawMessage(*input))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

// standIn writes a program that is this test binary with a variable, and returns its path.
func standIn(t *testing.T, dir, name, variable string) string {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	clitest.Must(t, err)
	program := filepath.Join(dir, name)
	clitest.Must(t, proctest.WriteProgram(program, fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", variable, self)))
	return program
}

// commands puts starter and temporal on the PATH of scripts.
func commands(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	standIn(t, bin, "starter", asProgram)
	standIn(t, bin, "temporal", asTemporal)
	if real := os.Getenv(temporalVariable); real != "" {
		clitest.Must(t, os.Remove(filepath.Join(bin, "temporal")))
		clitest.Must(t, os.Symlink(real, filepath.Join(bin, "temporal")))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// scriptOfTheReadme is its example with a command, as it is printed.
func scriptOfTheReadme(t *testing.T, command string) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	clitest.Must(t, err)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], command) {
			return block[1]
		}
	}
	t.Fatalf("README.md has no example of %s", command)
	return ""
}

func TestTheScriptsOfTheReadme(t *testing.T) {
	need.Program(t, "jq")
	commands(t)
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	b := bench{t, filepath.Join(home, "state", "ratchet"), clitest.Repository(t), answers(t)}
	bringUp(t, b.runsDir)
	id := b.start()
	b.await(id, run.AwaitingApproval)
	sh := func(script string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "RUN="+id)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	script := scriptOfTheReadme(t, "temporal workflow signal")
	_, unopened, found := strings.Cut(script, "eval \"$(starter env)\"")
	if !found {
		t.Fatalf("it does not begin with starter env:\n%s", script)
	}
	address := "export TEMPORAL_ADDRESS=" + address(t, b.runsDir) + "\n"
	// starter reads the same variable, and is refused too.
	if out, err := sh(address + strings.ReplaceAll(unopened, "starter status", "TEMPORAL_ADDRESS= starter status")); err == nil || !strings.Contains(out, "connection") {
		t.Errorf("without the key: %v\n%s", err, out)
	}
	if st := b.status(id); st.Status != run.AwaitingApproval {
		t.Fatalf("without the key the run is %s", st.Status)
	}
	if out, err := sh(script); err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	eventually.Holds(t, "the signal has approved", func() bool { return strings.Contains(b.events(id), `"APPROVAL_GRANTED"`) })
	if events := b.events(id); !strings.Contains(events, "kim") {
		t.Errorf("by whom?\n%s", events)
	}
	eventually.Holds(t, "the second approval is pending", func() bool { st := b.status(id); return st.Iteration == 2 && st.Pending.Approval != nil })
	script = scriptOfTheReadme(t, "starter approve $RUN")
	if out, err := sh(script); err != nil || !strings.Contains(out, `"result":"approved"`) {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	b.await(id, run.Completed)
}

func address(t *testing.T, runsDir string) string {
	t.Helper()
	f, err := engine.ReadFile(runsDir)
	clitest.Must(t, err)
	return f.Address
}

func (b bench) env() (vars map[string]*string) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.expect(0, "env", "--json").out), &vars); err != nil {
		b.Fatal(err)
	}
	return vars
}

func TestDoorOfTheEngine(t *testing.T) {
	b := bench{t, filepath.Join(t.TempDir(), "it's runs"), clitest.Repository(t), answers(t)}
	if got := b.starter("env"); got.code != exit.Unreachable || got.out != "" {
		t.Errorf("env without an engine: %+v", got)
	}
	stop, ready, _ := upSays(t, b.runsDir)
	var shown struct{ UI, Review string }
	clitest.Must(t, json.Unmarshal([]byte(ready), &shown))
	if page, _, short := strings.Cut(shown.Review, "/l/"); !short || shown.UI != page+review.UIPath {
		t.Errorf("up prints the link %q, and the Web UI %q", shown.Review, shown.UI)
	}
	t.Run("env", func(t *testing.T) { testEnv(bench{t, b.runsDir, b.repo, b.answers}) })
	t.Run("ui", func(t *testing.T) { testUI(bench{t, b.runsDir, b.repo, b.answers}) })
	if got := b.expect(0, "doctor", "--sandbox", "off").out; !regexp.MustCompile(`✓ lock +locked`).MatchString(got) {
		t.Errorf("doctor:\n%s", got)
	}
	before, err := os.ReadFile(*b.env()["TEMPORAL_TLS_CLIENT_KEY_PATH"])
	clitest.Must(t, err)
	stop()
	if got := b.starter("ui"); got.code == 0 || !strings.Contains(got.err, "no review page") {
		t.Errorf("ui without an engine: %+v", got)
	}

	stop, ready, said := upSays(t, b.runsDir, "--open")
	if !strings.Contains(ready, `"open": true`) && !strings.Contains(ready, `"open":true`) || !strings.Contains(said, "OPEN: ") || strings.Count(said, "\n")-strings.Count(said, "is starting on") != 2 { // the first is about the sandbox; a slow start waits for its lock
		t.Errorf("up --open says %q and %q", ready, said)
	}
	if vars := b.env(); vars["TEMPORAL_TLS_CLIENT_KEY_PATH"] != nil {
		t.Errorf("env of an open engine: %v", vars)
	}
	if got := b.expect(0, "doctor", "--sandbox", "off").out; !strings.Contains(got, "lock") || !strings.Contains(got, "OPEN: ") {
		t.Errorf("doctor:\n%s", got)
	}
	stop()

	bringUp(t, b.runsDir)
	if after, err := os.ReadFile(*b.env()["TEMPORAL_TLS_CLIENT_KEY_PATH"]); err != nil || string(after) != string(before) {
		t.Errorf("the key of the next engine is another: %v", err)
	}
}

func testEnv(b bench) {
	for name, value := range map[string]string{
		"TEMPORAL_API_KEY": "key of a cloud", "TEMPORAL_TLS_CLIENT_CERT_PATH": "/cert", "TEMPORAL_PROFILE": "cloud",
		"TEMPORAL_GRPC_META_X_ORG": "org", "TEMPORAL_GRPC_META_AUTHORIZATION": "Bearer old", "TEMPORAL_TLS_X;id": "", "TEMPORAL_OTHER": "mine",
	} {
		b.Setenv(name, value)
	}
	profile := filepath.Join(b.TempDir(), "temporal.toml")
	clitest.Write(b.T, profile, "[profile.cloud]\naddress = \"cloud:1\"\napi_key = \"k\"\n")
	b.Setenv("TEMPORAL_CONFIG_FILE", profile)
	for _, name := range []string{"TEMPORAL_TLS_CLIENT_CERT_PATH", "TEMPORAL_TLS_CLIENT_KEY_PATH", "TEMPORAL_TLS_SERVER_CA_CERT_PATH"} {
		if file := b.env()[name]; file == nil || *file != filepath.Join(b.runsDir, engine.KeyFile) {
			b.Errorf("%s is %v", name, file)
		}
	}
	text := b.expect(0, "env").out
	if strings.Contains(text, ";id") || strings.Contains(text, "OTHER") {
		b.Errorf("env:\n%s", text)
	}
	script := fmt.Sprintf("%s\nRATCHET_TEST_AS_TEMPORAL=1 exec '%s' workflow signal --workflow-id none --name x --input 1", text, os.Args[0])
	out, err := exec.CommandContext(b.Context(), "sh", "-ec", script).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "workflow not found") { // of the engine, which has taken the key
		b.Errorf("a client with these variables: %v %s\n%s", err, out, text)
	}
	b.Setenv(proc.RunVariable, "some-run")
	for _, command := range []string{"env", "ui"} {
		if got := b.expect(exit.Failed, command); got.out != "" || !strings.Contains(got.err, "decide from a terminal of your own") {
			b.Errorf("%s of a run's program: %+v", command, got)
		}
	}
}

func testUI(b bench) {
	// enter logs in by a link, and returns the page that it leads to.
	enter := func(link string) (int, string) {
		origin, code, _ := strings.Cut(link, "/l/")
		request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, origin+"/login", strings.NewReader(code))
		clitest.Must(b.T, err)
		request.Header.Set("Origin", origin)
		answer, err := http.DefaultClient.Do(request)
		clitest.Must(b.T, err)
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		clitest.Must(b.T, err)
		return answer.StatusCode, string(page)
	}
	link := strings.TrimSpace(b.expect(0, "ui").out)
	if code, page := enter(link); code != http.StatusOK || page != "/temporal/" {
		b.Errorf("%s: %d, leads to %q, want 200 and /temporal/", link, code, page)
	}
	if code, _ := enter(link); code != http.StatusUnauthorized {
		b.Errorf("%s, once more: %d, want 401", link, code)
	}
	id := b.start()
	if code, page := enter(strings.TrimSpace(b.expect(0, "ui", id).out)); code != http.StatusOK || page != "/temporal/namespaces/default/workflows/run-"+id {
		b.Errorf("the link to a run: %d, leads to %q", code, page)
	}
	b.expect(exit.Failed, "ui", "none")
	b.expect(0, "cancel", id)
}
