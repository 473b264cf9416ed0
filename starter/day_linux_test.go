package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/report"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// day is a day's work of one person: an engine, two repositories, and the four ways to decide.
type day struct {
	bench
	host        agentHost
	alpha, beta string
	plans       string // answers of a planner
	page        *reviewer
	tools       toolSession
	last        map[string]string // the approval that was decided last, by run
}

// TestADaysWork has the real agents and a scripted provider make ten changes in two repositories. A person decides at a
// terminal, on the page, by raw signals and through an agent's tools, retries one run, merges three, cleans up, and reads
// a report whose figures equal the events. Then they resolve two conflicts, undo a merge, and answer three sessions.
func TestADaysWork(t *testing.T) {
	need.Suite(t, need.Nightly)
	need.Program(t, "jq")
	d := newDay(t)
	d.begin(d.alpha, "one.txt", d.agent("claude", "claude-1", "one.txt")...)
	d.begin(d.alpha, "two.txt", d.agent("codex", "codex-1", "two.txt")...)
	d.begin(d.alpha, "three.txt", d.agent("opencode", "opencode-1", "three.txt")...)
	d.begin(d.alpha, "state.txt", "--provider", "replay:"+answers(t), "--goal", "Make it good in two steps")
	d.begin(d.beta, "state.txt", "--provider", "replay:"+answersThat(t, change("bad", "better"), change("bad", "good")), "--goal", "Say it plainly")
	d.begin(d.beta, "one.txt", d.agent("claude", "claude-2", "one.txt")...)
	d.begin(d.beta, "state.txt", "--provider", "replay:"+answers(t), "--goal", "Make it good at once", "--max-fix", "0")
	d.begin(d.beta, "state.txt", "--provider", "replay:"+answersThat(t, askingAnswer, ""), "--goal", "Ask first", "--approve", "never")
	d.begin(d.beta, "state.txt", "--provider", "replay:"+answers(t), "--goal", "Never mind")

	d.morning()
	d.evening()
	d.merges()
	d.comparesTheReport()
	d.cleans()
	d.conflicts()
	d.sessions()
}

// begin starts a run whose check wants the file to be good.
func (d *day) begin(repo, file string, more ...string) {
	d.Helper()
	d.expect(0, append([]string{"run", "--sandbox", "off", "--repo", repo, "--planner", "replay:" + d.plans, "--check", "grep -qx good " + file, "--detach"}, more...)...)
}

// askingAnswer asks whoever reads it.
const askingAnswer = "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: Good or better?\nreason: unclear\n<<<AIO_RESULT_END>>>\n"

// answersThat are recorded answers of a developer, and of a fixer or of the developer's second call.
func answersThat(t *testing.T, first, fix string) string {
	t.Helper()
	dir := t.TempDir()
	clitest.Write(t, filepath.Join(dir, "execute-1.md"), first)
	clitest.Write(t, filepath.Join(dir, "execute-1.2.md"), change("bad", "good"))
	clitest.Write(t, filepath.Join(dir, "fix-2.md"), fix)
	return dir
}

func newDay(t *testing.T) *day {
	t.Helper()
	h := newAgentHost(t)
	commands(t)
	model := fakemodel.Start(t)
	codex := filepath.Join(h.home, ".codex")
	clitest.Must(t, os.Mkdir(codex, 0o700))
	clitest.Write(t, filepath.Join(codex, "config.toml"), fakemodel.CodexConfig(model.URL))
	opencode := filepath.Join(h.home, "opencode.json")
	clitest.Write(t, opencode, fakemodel.OpencodeConfig(model.URL))
	clitest.Must(t, fakemodel.SettleOpencode(h.home))
	_, ready, _ := upIn(t, h.environ("ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=sk-ant-dummy-key-0000", "CLAUDE_BIN="+need.Env(t, "CLAUDE_BIN"),
		"CODEX_HOME="+codex, "CODEX_BIN="+need.Env(t, "CODEX_BIN"), "OPENAI_API_KEY=dummy-key-0000", "OPENCODE_CONFIG="+opencode, "OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1"), h.runsDir)
	var links struct{ Review string }
	clitest.Must(t, json.Unmarshal([]byte(ready), &links))
	plans := t.TempDir()
	clitest.Write(t, filepath.Join(plans, "plan-1.md"), "# Make it good\n")
	d := &day{bench: bench{t, h.runsDir, "", ""}, host: h, plans: plans, last: map[string]string{}}
	for at, dir := range map[string]*string{"alpha": &d.alpha, "beta": &d.beta} {
		*dir = filepath.Join(t.TempDir(), at)
		clitest.Must(t, os.Rename(clitest.Repository(t), *dir))
		for _, name := range []string{"one.txt", "two.txt", "three.txt"} {
			clitest.Write(t, filepath.Join(*dir, name), "bad\n")
		}
		d.commits(*dir, "more files")
	}
	d.page, d.tools = newReviewer(t, links.Review), h.connect("--allow-decisions")
	return d
}

func (d *day) commits(repo, message string) {
	d.Helper()
	clitest.Git(d.T, repo, "add", "-A")
	clitest.Git(d.T, repo, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "-m", message)
}

// agent returns the flags of a run whose developer is a real agent that edits a file by its own tools.
func (d *day) agent(name, id, file string) []string {
	path := filepath.Join(d.runsDir, "agents", id, "developer", "checkout", "tree", file)
	calls := map[string][]any{
		"claude": {"Read", map[string]string{"file_path": path}, "Edit", map[string]string{"file_path": path, "old_string": "bad", "new_string": "good"}},
		"codex":  {"exec_command", map[string]string{"cmd": "sed -i s/bad/good/ " + file}},
		"opencode": {"read", map[string]string{"filePath": path},
			"edit", map[string]string{"filePath": path, "oldString": "bad", "newString": "good"}},
	}[name]
	goal := "Make " + file + " good.\n"
	for i := 0; i < len(calls); i += 2 {
		input, err := json.Marshal(calls[i+1])
		clitest.Must(d.T, err)
		goal += fmt.Sprintf("[[tool:%s %s]]", calls[i], input)
	}
	spec := map[string]string{"claude": "claude", "codex": "codex", "opencode": "acp:" + need.Env(d.T, "OPENCODE_BIN") + " acp"}[name]
	return []string{"--provider", spec, "--id", id, "--goal", goal + "[[say:Make " + file + " good]]", "--timeout", "10m"}
}

// gate waits for a new approval of the run.
func (d *day) gate(name string) string {
	d.Helper()
	id := ""
	eventually.Holds(d.T, "a gate of "+name, func() bool {
		st := d.status(name)
		if st.Status.Terminal() || st.Status == run.AwaitingInput {
			d.Fatalf("%s is %s: %s", name, st.Status, d.starter("watch", name).out)
		}
		if a := st.Pending.Approval; a != nil && a.Permission == nil {
			id = a.ApprovalID
		}
		return id != "" && id != d.last[name]
	})
	d.last[name] = id
	return id
}

// terminal watches the run at a terminal.
func (d *day) terminal(name string) *seat {
	d.Helper()
	s := sit(d.T, "starter", 100, 30, "watch", name, "--runs-dir", d.runsDir)
	s.awaits(gatePrompt, 1)
	return s
}

// signal approves by the words of the README.
func (d *day) signal(name string) {
	d.Helper()
	d.gate(name)
	cmd := exec.CommandContext(d.Context(), "sh", "-ec", `eval "$(starter env --runs-dir "$RUNS")"
		approval=$(starter status "$RUN" --json | jq -r .pending.approval.approvalId)
		temporal workflow signal --workflow-id "run-$(starter status "$RUN" --json | jq -r .runId)" --name approval \
			--input '{"approvalId": "'$approval'", "decision": "approve", "by": "a script"}'`)
	cmd.Env = append(os.Environ(), "RUN="+name, "RUNS="+d.runsDir)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.Fatalf("%v: %s", err, out)
	}
}

func (d *day) approveByTool(name string) {
	d.Helper()
	var done map[string]string
	approval := d.gate(name)
	d.tools.get("ratchet_approve", map[string]any{"run": name, "approvalId": approval}, &done)
}

// morning decides at the first gates.
func (d *day) morning() {
	d.gate("alpha#1")
	watching := d.terminal("alpha#1")
	watching.does("y", "Completed")
	watching.leaves(0)
	d.page.approve(d, "alpha#2")
	d.signal("alpha#3")
	d.approveByTool("alpha#4")

	d.gate("beta#1")
	refusing := d.terminal("beta#1")
	refusing.does("n", "Why not?")
	refusing.does("say it plainly", "rejected by")
	refusing.awaitsAfter("rejected by", gatePrompt)
	refusing.does("q", "The run waits for an approval")
	refusing.leaves(exit.Approval)
	d.approveByTool("beta#2")
	d.signal("beta#3")
	d.await("beta#4", run.AwaitingInput)
	var done map[string]string
	d.tools.get("ratchet_answer", map[string]any{"run": "beta#4", "questionId": d.status("beta#4").State.PendingQuestionID, "text": "good"}, &done)
	d.gate("beta#5")
	d.expect(0, "cancel", "beta#5")
}

// evening decides at the second gates, and retries the run that has failed.
func (d *day) evening() {
	d.approveByTool("alpha#4")
	d.page.approve(d, "beta#1")
	d.await("beta#3", run.Failed)
	d.expect(0, "retry", "beta#3", "--max-fix", "3", "--note", "in one more step", "--detach")
	d.page.approve(d, "beta#6")
	for _, name := range []string{"alpha#1", "alpha#2", "alpha#3", "alpha#4", "beta#1", "beta#2", "beta#4", "beta#6"} {
		d.await(name, run.Completed)
	}
}

// merges brings a run to the branch that it began at, a second to the branch that has moved on by the first, and the
// retry with the commits of the run before, after a commit of the person's.
func (d *day) merges() {
	d.expect(0, "merge", "alpha#1")
	if got := d.expect(0, "merge", "alpha#2", "--squash"); !strings.Contains(got.out, "the checks ran again") {
		d.Errorf("onto a branch that has moved on:\n%s", got.out)
	}
	clitest.Write(d.T, filepath.Join(d.beta, "mine.txt"), "mine\n")
	d.commits(d.beta, "mine")
	if got := d.expect(0, "merge", "beta#6"); !strings.Contains(got.out, "2 commits") {
		d.Errorf("the retry:\n%s", got.out)
	}
	for repo, files := range map[string][]string{d.alpha: {"one.txt", "two.txt"}, d.beta: {"state.txt"}} {
		for _, name := range files {
			if text, err := os.ReadFile(filepath.Join(repo, name)); string(text) != "good\n" {
				d.Errorf("%s of %s is %q, %v", name, repo, text, err)
			}
		}
		if status := clitest.Git(d.T, repo, "status", "--porcelain"); status != "" {
			d.Errorf("%s: %s", repo, status)
		}
	}
}

// cleans removes the branches that are merged or empty, and the one of the canceled run.
func (d *day) cleans() {
	branches := func(repo string) []string {
		return strings.Fields(clitest.Git(d.T, repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/ratchet/"))
	}
	before := append(branches(d.alpha), branches(d.beta)...)
	d.expect(0, "clean", "--older", "0h")
	if after := append(branches(d.alpha), branches(d.beta)...); !slices.Equal(before, after) {
		d.Errorf("a dry run removed something: %v, %v", before, after)
	}
	d.expect(0, "clean", "--older", "0h", "--yes")
	if alpha, beta := branches(d.alpha), branches(d.beta); len(alpha) != 2 || len(beta) != 3 {
		d.Errorf("%v and %v stay, want those of alpha#3, alpha#4, beta#1, beta#2 and beta#4", alpha, beta)
	}
}

// comparesTheReport compares the report with sums over the lines of the logs, which are read here as plain JSON.
func (d *day) comparesTheReport() {
	var got report.Report
	clitest.Must(d.T, json.Unmarshal([]byte(d.expect(0, "report", "--since", "1h", "--json").out), &got))
	logs, err := filepath.Glob(filepath.Join(d.runsDir, "workflows", "*", "events.ndjson"))
	clitest.Must(d.T, err)
	if len(logs) != 10 {
		d.Fatalf("%d runs, want 10", len(logs))
	}
	landed := map[string]bool{}
	for _, repo := range []string{d.alpha, d.beta} {
		for _, id := range strings.Fields(clitest.Git(d.T, repo, "log", "main", "--format=%(trailers:key=Ratchet-Run,valueonly,separator=%x20)")) {
			landed[id] = true
		}
	}
	var total report.Figures
	repositories, providers := map[string]*report.Figures{}, map[string]*report.Figures{}
	for _, log := range logs {
		one := tally(d.T, log, providers, landed)
		addFigures(&total, one.Figures)
		addFigures(figuresOf(repositories, one.repository), one.Figures)
	}
	if total.Runs != 10 || total.Done != 8 || total.Failed != 1 || total.Canceled != 1 || total.Merged != 4 || total.SentBack != 1 || total.Asked != 1 || total.TotalTokens == 0 {
		d.Errorf("the day was another: %+v", total)
	}
	same := func(what string, got, want report.Figures) {
		d.Helper()
		if got.MicrosPerMerged = 0; !reflect.DeepEqual(got, want) {
			d.Errorf("%s: the report says\n%+v\nthe events\n%+v", what, got, want)
		}
	}
	same("all", got.Total, total)
	if len(got.Repositories) != len(repositories) || len(got.Providers) != len(providers) {
		d.Errorf("%d repositories and %d providers, want %d and %d", len(got.Repositories), len(got.Providers), len(repositories), len(providers))
	}
	for _, row := range got.Repositories {
		same(row.Name, row.Figures, *figuresOf(repositories, row.Name))
	}
	for _, row := range got.Providers {
		same(row.Name, row.Figures, *figuresOf(providers, row.Name))
	}
}

func figuresOf(sums map[string]*report.Figures, name string) *report.Figures {
	if sums[name] == nil {
		sums[name] = &report.Figures{}
	}
	return sums[name]
}

// addFigures adds each number of b to a.
func addFigures(a *report.Figures, b report.Figures) {
	var add func(to, from reflect.Value)
	add = func(to, from reflect.Value) {
		for i := range to.NumField() {
			if to.Field(i).Kind() == reflect.Struct {
				add(to.Field(i), from.Field(i))
				continue
			}
			to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
		}
	}
	add(reflect.ValueOf(a).Elem(), reflect.ValueOf(b))
}

// tallied are the figures of one run.
type tallied struct {
	report.Figures
	repository string
}

// tally counts the lines of a log, and adds the run to the figures of its providers.
func tally(t *testing.T, log string, providers map[string]*report.Figures, landed map[string]bool) (one tallied) {
	t.Helper()
	b, err := os.ReadFile(log)
	clitest.Must(t, err)
	one.Runs = 1
	if landed[filepath.Base(filepath.Dir(log))] {
		one.Merged = 1
	}
	developer, provider, status := "", "", ""
	used := map[string]run.Usage{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			Type    string
			Phase   string
			Payload struct {
				Repository struct{ Path string }
				Providers  struct{ Developer string }
				Provider   string
				Usage      run.Usage
			}
		}
		clitest.Must(t, json.Unmarshal(lines.Bytes(), &e))
		switch e.Type {
		case "RUN_CREATED":
			one.repository, developer = e.Payload.Repository.Path, e.Payload.Providers.Developer
			used[developer] = run.Usage{}
		case "PHASE_STARTED":
			if e.Payload.Provider != "" {
				provider = e.Payload.Provider
			}
			if e.Phase == "fix" {
				one.Fixes++
			}
		case "APPROVAL_REJECTED":
			one.SentBack++ // no agent of this day asks for a tool
		case "QUESTION_RAISED":
			one.Asked++
		case "RUN_COMPLETED", "RUN_FAILED", "RUN_CANCELED":
			status = e.Type
		}
		if e.Payload.Usage != (run.Usage{}) {
			one.Usage = one.Usage.Add(e.Payload.Usage)
			used[provider] = used[provider].Add(e.Payload.Usage)
		}
	}
	clitest.Must(t, lines.Err())
	switch status {
	case "RUN_COMPLETED":
		one.Done = 1
		if one.Fixes+one.SentBack == 0 {
			one.FirstTry = 1
		}
	case "RUN_FAILED":
		one.Failed = 1
	case "RUN_CANCELED":
		one.Canceled = 1
	}
	for spec, usage := range used {
		part := report.Figures{}
		if spec == developer {
			part = one.Figures
		}
		part.Usage = usage
		addFigures(figuresOf(providers, spec), part)
	}
	return one
}

// reviewer is a person in a browser.
type reviewer struct {
	base   string
	client http.Client
}

// newReviewer opens the page by its link.
func newReviewer(t *testing.T, link string) *reviewer {
	t.Helper()
	u, err := url.Parse(link)
	clitest.Must(t, err)
	jar, err := cookiejar.New(nil)
	clitest.Must(t, err)
	r := &reviewer{base: u.Scheme + "://" + u.Host, client: http.Client{Jar: jar, Timeout: time.Minute}}
	t.Cleanup(r.client.CloseIdleConnections)
	if status, body := r.post(t, "/login", "text/plain", strings.TrimPrefix(u.Path, "/l/")); status != http.StatusOK || body != "/" {
		t.Fatalf("login by %s: %d %s", link, status, body)
	}
	return r
}

func (r *reviewer) post(t *testing.T, path, kind, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+path, strings.NewReader(body))
	clitest.Must(t, err)
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Origin", r.base)
	return r.send(t, req)
}

func (r *reviewer) send(t *testing.T, req *http.Request) (status int, text string) {
	t.Helper()
	resp, err := r.client.Do(req)
	clitest.Must(t, err)
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	clitest.Must(t, err)
	return resp.StatusCode, b.String()
}

// approve sends the form of the run's page.
func (r *reviewer) approve(d *day, name string) {
	d.Helper()
	approval := d.gate(name)
	r.submit(d, d.runPath(name), "decide", url.Values{"id": {approval}, "verb": {"approve"}})
}
