package review_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// complete applies the pending patch and ends the run.
func (e *engine) complete() {
	e.emit(run.ApprovalGranted{ApprovalID: e.pending()}, run.PatchApplied{Patch: run.DigestOf([]byte(patchText)), Base: e.s.Head, Commit: "1"})
	e.emit(run.PhaseCompleted{Result: e.s.Outcome}, run.PhaseStarted{Role: run.Evaluator})
	e.emit(run.EvaluationPassed{})
	e.emit(run.PhaseCompleted{Result: e.s.Outcome})
	e.emit(run.RunCompleted{Commits: 1})
}

// completed is a page with a run that is completed, and not merged.
func completed(t *testing.T) *served {
	t.Helper()
	e := newEngine(t, "be polite")
	e.propose("put a comma", patchText)
	e.complete()
	e.diff, e.standing = patchText, merge.Standing{Into: "main"}
	return serve(t, review.Config{}, e)
}

// merged is a page with a run that is merged.
func merged(t *testing.T) *served {
	t.Helper()
	s := completed(t)
	s.engine.standing = merge.Standing{Into: "main", Branch: "main", At: time.Now()}
	return s
}

// failed is a page with a run that was canceled.
func failed(t *testing.T) *served {
	t.Helper()
	s := atGate(t, review.Config{})
	s.engine.refuse(true)
	s.engine.emit(run.RunCanceled{})
	s.engine.standing = merge.Standing{Into: "main"}
	return s
}

// asksForTool is a page with a session whose agent asks for a tool.
func asksForTool(t *testing.T) *served {
	t.Helper()
	s := atGate(t, review.Config{})
	s.engine.sessions = []session.Snapshot{{
		Input: session.Input{ID: "s1", Provider: "claude", Title: "the flaky tests", Repository: run.Repository{Path: "/src/greeter"}}, State: session.Asking, Since: time.Now().Add(-time.Hour),
		Asks: []session.Ask{{ApprovalID: "apr-1", Permission: run.Permission{Tool: "Bash", Excerpt: `{"command":"go vet ./..."}`}}},
	}}
	return s
}

// acted returns what the engine, the sessions and the program were told.
func (e *engine) acted() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(append(append([]string{}, e.took...), e.called...), "|")
}

// TestWhoMayAct attacks each form that begins work or answers a session, and sends it afterwards as a person does.
func TestWhoMayAct(t *testing.T) {
	forms := map[string]struct {
		page func(*testing.T) *served
		path string
		form url.Values
		does string
	}{
		"merge":            {completed, "/runs/r1/merge", url.Values{"into": {"main"}}, "merge r1 into main by kim"},
		"undo":             {merged, "/runs/r1/undo", url.Values{"into": {"main"}}, "undo r1 on main by kim"},
		"retry":            {failed, "/runs/r1/retry", url.Values{"once": {"A"}}, "retry r1 onto "},
		"start":            {failed, "/start", url.Values{"once": {"A"}, "goal": {"be short"}, "repo": {"/src/greeter"}, "provider": {"claude"}}, `start "be short" in /src/greeter with claude`},
		"allow a tool":     {asksForTool, "/sessions/s1/decide", url.Values{"id": {"apr-1"}, "verb": {"approve"}}, "s1 approval"},
		"answer a session": {asksForTool, "/sessions/s1/answer", url.Values{"id": {"qst-1"}, "text": {"stop"}}, "s1 answer"},
	}
	attacks := map[string]func(v *visitor, path string, form url.Values) reply{
		"no session": func(v *visitor, path string, form url.Values) reply { v.cookie = ""; return v.post(path, form) },
		"no token":   func(v *visitor, path string, form url.Values) reply { form.Del("token"); return v.post(path, form) },
		"the token of another's session": func(v *visitor, path string, form url.Values) reply {
			form.Set("token", v.s.enter("mallory").formToken())
			return v.post(path, form)
		},
		"a page of another origin": func(v *visitor, path string, form url.Values) reply {
			v.origin = "http://evil.example"
			return v.post(path, form)
		},
		"a client without an origin": func(v *visitor, path string, form url.Values) reply { v.origin = ""; return v.post(path, form) },
		"a browser that says it": func(v *visitor, path string, form url.Values) reply {
			v.header.Set("Sec-Fetch-Site", "cross-site")
			v.header.Set("Sec-Fetch-Mode", "navigate")
			return v.post(path, form)
		},
		"a name that leads here": func(v *visitor, path string, form url.Values) reply {
			v.host = "evil.example"
			return v.post(path, form)
		},
		"a GET": func(v *visitor, path string, form url.Values) reply {
			r := v.get(path + "?" + form.Encode())
			if r.code == http.StatusOK && path == "/start" { // the page with the form
				r.code = http.StatusNotFound
			}
			return r
		},
		"a form of another kind": func(v *visitor, path string, form url.Values) reply {
			return v.send(http.MethodPost, path, "text/plain", form.Encode())
		},
	}
	for name, f := range forms {
		t.Run(name, func(t *testing.T) {
			s := f.page(t)
			for attack, send := range attacks {
				v := s.enterOwner()
				form := url.Values{"token": {v.formToken()}}
				for key, values := range f.form {
					form[key] = values
				}
				if r := send(v, f.path, form); r.code < 400 {
					t.Errorf("%s: the answer is %d: %.300s", attack, r.code, r.body)
				}
				if acted := s.engine.acted(); acted != "" {
					t.Fatalf("%s: done: %s", attack, acted)
				}
			}
			v := s.enterOwner()
			f.form.Set("token", v.formToken())
			for range 2 { // sent again, it is done once
				v.post(f.path, f.form)
				if name == "answer a session" {
					break
				}
			}
			if acted := s.engine.acted(); !strings.HasPrefix(acted, f.does) || strings.Contains(acted, "|") {
				t.Errorf("control: done %q, want %q once", acted, f.does)
			}
		})
	}
}

// formToken returns the token of the caller's forms, from any page that has a form.
func (v *visitor) formToken() string {
	v.s.t.Helper()
	for _, path := range []string{"/runs/r1", "/start", "/sessions/s1"} {
		if m := tokenPattern.FindStringSubmatch(v.get(path).body); m != nil {
			return m[1]
		}
	}
	v.s.t.Fatal("no page has a form")
	return ""
}

func TestARunThatHasEndedIsNotEnding(t *testing.T) {
	if body := failed(t).enter("kim").get("/runs/" + string(runID)).body; !strings.Contains(body, ">canceled<") || strings.Contains(body, "ending") {
		t.Errorf("got %.1500s, want that the run is canceled, and not that it is ending", body)
	}
}

// A person who may decide may finish a run; a goal in free words is for the owner of the engine, who may run anything.
func TestOnlyTheOwnerStartsRuns(t *testing.T) {
	s := failed(t)
	v := s.enter("lee")
	form := url.Values{"token": {v.formToken()}, "once": {"A"}, "goal": {"be short"}, "repo": {"/src/greeter"}}
	if r := v.post("/start", form); r.code != http.StatusForbidden || s.engine.acted() != "" {
		t.Errorf("%d: %.300s, done: %s", r.code, r.body, s.engine.acted())
	}
	if strings.Contains(v.get("/").body, "/start") || !strings.Contains(s.enterOwner().get("/").body, `href="/start"`) {
		t.Error("the link to the form is not for the owner alone")
	}
}

// A run starts in a repository that runs have worked on, and nowhere else.
func TestRunsStartInKnownRepositories(t *testing.T) {
	s := failed(t)
	v := s.enterOwner()
	for want, form := range map[string]url.Values{
		"no run has worked on that repository": {"repo": {"/etc"}, "goal": {"be <b>short</b>"}},
		"write the goal":                       {"repo": {"/src/greeter"}, "goal": {" "}},
	} {
		form.Set("token", v.formToken())
		form.Set("once", "A")
		if r := v.post("/start", form); r.code != http.StatusConflict || !strings.Contains(r.body, want) || s.engine.acted() != "" {
			t.Errorf("%d, want %q: %.300s, done: %s", r.code, want, r.body, s.engine.acted())
		}
	}
	s.engine.fails = errors.New("on the worker: claude is not installed")
	form := url.Values{"token": {v.formToken()}, "once": {"A"}, "repo": {"/src/greeter"}, "goal": {"be <b>short</b>"}, "provider": {"claude"}}
	if r := v.post("/start", form); !strings.Contains(r.body, "claude is not installed") || !strings.Contains(r.body, "be &lt;b&gt;short&lt;/b&gt;</textarea>") {
		t.Errorf("what failed is not said, or the goal is gone: %s", r.body)
	}
	s.engine.fails = nil
	if r := v.post("/start", form); r.code != http.StatusSeeOther || r.header.Get("Location") != "/runs/r3?said=started" {
		t.Errorf("sent again after a failure: %d to %s", r.code, r.header.Get("Location"))
	}
}

// A completed run shows its diff and its merge, and says where its commits are.
func TestTheResultOfARun(t *testing.T) {
	s := completed(t)
	v := s.enter("kim")
	body := v.get("/runs/r1").body
	for _, want := range []string{"Merge into main", "greet.go", `class="ln ins"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if r := v.get("/runs/r1/patch"); r.body != patchText {
		t.Errorf("the whole diff: %d %s", r.code, r.body)
	}
	form := url.Values{"token": {v.formToken()}, "into": {"main"}}
	other := url.Values{"token": {v.formToken()}, "into": {"release"}}
	if r := v.post("/runs/r1/merge", other); r.code < 400 || !strings.Contains(r.body, "no longer checked out") || s.engine.acted() != "" {
		t.Errorf("into a branch that was not shown: %d, done %s", r.code, s.engine.acted())
	}
	s.engine.fails = &merge.ConflictError{Commit: "1", Head: "1", Paths: []string{"greet.go", "a<b>.go"}}
	v.post("/runs/r1/merge", form)
	body = v.get("/runs/r1").body
	for _, want := range []string{"the run and main have both changed greet.go, a&lt;b&gt;.go. Nothing was changed.", "starter retry r1 --onto main", "Retry onto main"} {
		if !strings.Contains(body, want) {
			t.Errorf("after a conflict the page lacks %q:\n%s", want, body)
		}
	}
	s.engine.fails = nil
	v.post("/runs/r1/merge", form)
	if body := v.get("/runs/r1").body; !strings.Contains(body, "Merged into main 0s ago.") || strings.Contains(body, "Merge into main") || strings.Contains(body, "have both changed") {
		t.Errorf("after the merge:\n%s", body)
	}
	if body := v.get("/").body; !strings.Contains(body, `<span class="tag good">merged</span>`) {
		t.Errorf("the queue after the merge:\n%s", body)
	}
	s.engine.fails = &merge.UndoConflictError{From: "1", To: "2", Paths: []string{"greet.go"}}
	v.post("/runs/r1/undo", form)
	if body := v.get("/runs/r1").body; !strings.Contains(body, "Not undone: later commits changed the same lines in greet.go") || !strings.Contains(body, "Undo on main") {
		t.Errorf("after an undo that conflicts:\n%s", body)
	}
	s.engine.fails = nil
	v.post("/runs/r1/undo", form)
	if body := v.get("/runs/r1").body; !strings.Contains(body, "Undone on main 0s ago.") || !strings.Contains(body, "Merge into main") || strings.Contains(body, "Not undone") {
		t.Errorf("after the undo:\n%s", body)
	}
	if body := v.get("/").body; !strings.Contains(body, `<span class="tag">undone</span>`) {
		t.Errorf("the queue after the undo:\n%s", body)
	}
	retry := url.Values{"token": form["token"], "once": {"B"}, "into": {"main"}}
	if r := v.post("/runs/r1/retry", retry); r.header.Get("Location") != "/runs/r2?of=%2Fruns%2Fr1&said=started" || !strings.HasSuffix(s.engine.acted(), "retry r1 onto main") {
		t.Errorf("retry: %d to %s, done %s", r.code, r.header.Get("Location"), s.engine.acted())
	}
}

// The page of a run whose workflow was terminated says how to continue, and offers nothing that no workflow takes.
func TestAWorkflowThatWasTerminated(t *testing.T) {
	s := atGate(t, review.Config{})
	s.engine.outcome = "terminated"
	body := s.enter("kim").get("/runs/r1").body
	for want, shown := range map[string]bool{"starter resume r1": true, `<span class="tag bad">terminated</span>`: true, `value="approve"`: false, `action="/runs/r1/cancel"`: false} {
		if strings.Contains(body, want) != shown {
			t.Errorf("the page holds %q: got %v, want %v:\n%s", want, !shown, shown, body)
		}
	}
}

// A merge that takes long goes on behind the page, once however often it is asked for, and the page follows it.
func TestAMergeGoesOnBehindThePage(t *testing.T) {
	s := completed(t)
	v := s.enter("kim")
	hold := make(chan struct{})
	s.engine.hold = hold
	form := url.Values{"token": {v.formToken()}, "into": {"main"}}
	answers := make(chan reply, 2)
	for range 2 {
		go func() { answers <- v.post("/runs/r1/merge", form) }()
	}
	eventually.Holds(t, "the page says that it merges", func() bool {
		body := v.get("/runs/r1").body
		return strings.Contains(body, "Merging into main") && strings.Contains(body, `data-live="/runs/r1/live"`)
	})
	close(hold)
	for range 2 {
		<-answers
	}
	eventually.Holds(t, "it is merged", func() bool { return strings.Contains(v.get("/runs/r1").body, "Merged into main") })
	if acted := s.engine.acted(); acted != "merge r1 into main by kim" {
		t.Errorf("done: %s", acted)
	}
}

// Comments beside a yes are never dropped: the page asks what to do with them.
func TestAYesWithCommentsIsAskedAbout(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	form := v.yes()
	form.Set("remark:new:4:greet.go", "no comma")
	form.Set("text", "nearly")
	r := v.post(decidePath, form)
	if r.code != http.StatusConflict || s.engine.acted() != "" || !strings.Contains(r.body, "You have 2 comments") || !strings.Contains(r.body, "no comma") || strings.Contains(r.body, `class="ask" role="alert" hidden`) {
		t.Errorf("%d, done %q: %s", r.code, s.engine.acted(), r.body)
	}
	form.Set("verb", "anyway")
	if r := v.post(decidePath, form); r.code != http.StatusSeeOther || !strings.HasPrefix(s.engine.acted(), "approve ") || !strings.Contains(s.engine.acted(), "no comma") {
		t.Errorf("%d, done %q", r.code, s.engine.acted())
	}
}

// The queue has the order and the words of the terminal's board, and the page of one leads to the next.
func TestTheOrderOfTheQueue(t *testing.T) {
	s := asksForTool(t)
	old := time.Now().Add(-time.Hour)
	ended := func(id run.ID, status run.Status, ago time.Duration) runs.Listed {
		at := time.Now().Add(-ago)
		return runs.Listed{ID: id, Status: status, Started: old, Ended: &at, Repository: "/src/shop", Goal: "sell"}
	}
	s.engine.others = []runs.Listed{ended("done-2", run.Completed, 2*time.Minute), ended("done-1", run.Failed, time.Minute)}
	v := s.enter("kim")
	body := v.get("/").body
	at := 0
	for _, want := range []string{
		"<title>(2) Runs", `href="/?repo=%2fsrc%2fgreeter"`, "Needs you", `href="/sessions/s1"`, `<span class="tag wants">allow</span>`, "use of the tool Bash", `href="/runs/r1"`, `<span class="tag wants">approve</span>`,
		"put a comma", "be polite", "$0.25", "Done", `href="/runs/done-1"`, `<span class="tag bad">failed</span>`, `href="/runs/done-2"`, `<span class="tag">completed</span>`,
	} {
		next := strings.Index(strings.ToLower(body[at:]), strings.ToLower(want))
		if next < 0 {
			t.Fatalf("%q is not behind what is before it:\n%s", want, body)
		}
		at += next
	}
	if shop := v.get("/?repo=%2Fsrc%2Fshop").body; strings.Contains(shop, `href="/runs/r1"`) || !strings.Contains(shop, `href="/runs/done-1"`) {
		t.Errorf("the queue of one repository:\n%s", shop)
	}
	if body := v.get("/sessions/s1").body; !strings.Contains(body, `href="/runs/r1" rel="next"`) || !strings.Contains(body, "1 of 2") {
		t.Errorf("the session leads to no next:\n%s", body)
	}
	r := v.post("/sessions/s1/decide", url.Values{"token": {v.formToken()}, "id": {"apr-1"}, "verb": {"reject"}, "text": {"no"}})
	if to := r.header.Get("Location"); to != "/runs/r1?of=%2Fsessions%2Fs1&said=refused" || !strings.Contains(v.get(to).body, `Refused. <a href="/sessions/s1">`) {
		t.Errorf("after the decision: %d to %s", r.code, to)
	}
}

// A session shows what it asks for as text, and a decision that it does not take changes nothing.
func TestASessionThatAsks(t *testing.T) {
	s := asksForTool(t)
	s.engine.sessions[0].Asks[0].Permission.Excerpt = `{"command":"echo <script>pwned()</script>"}`
	v := s.enter("kim")
	if body := v.get("/sessions/s1").body; strings.Contains(body, "<script>") || !strings.Contains(body, "echo &lt;script&gt;pwned()") || !strings.Contains(body, "Allow <code>Bash</code>?") {
		t.Errorf("the page of the session:\n%s", body)
	}
	for what, form := range map[string]url.Values{
		"another call":                {"id": {"apr-9"}, "verb": {"approve"}},
		"no decision":                 {"id": {"apr-1"}},
		"a yes with a reason why not": {"id": {"apr-1"}, "verb": {"approve"}, "text": {"not in this directory"}},
	} {
		form.Set("token", v.formToken())
		if r := v.post("/sessions/s1/decide", form); r.code != http.StatusConflict || !strings.Contains(r.body, form.Get("text")) || s.engine.acted() != "" {
			t.Errorf("%s: %d, done %q: %s", what, r.code, s.engine.acted(), r.body)
		}
	}
	if r := v.get("/sessions/none"); r.code != http.StatusNotFound {
		t.Errorf("a session that is not there: %d", r.code)
	}
}

// A saved goal is chosen on the start page, which asks for the values of its parameters.
func TestASavedGoalIsStarted(t *testing.T) {
	s := failed(t)
	v := s.enterOwner()
	link := "/start?goal=%40licence&repo=%2Fsrc%2Fgreeter"
	if page := v.get("/start").body; !strings.Contains(page, strings.ReplaceAll(link, "&", "&amp;")) {
		t.Errorf("the page does not offer the goal: %s", page)
	}
	page := v.get(link).body
	if !strings.Contains(page, "Put &lt;the&gt; licence of") || !strings.Contains(page, `name="set:year"`) || strings.Contains(page, "<textarea") {
		t.Errorf("the page has no field for the parameter: %s", page)
	}
	form := url.Values{"token": {v.formToken()}, "once": {"A"}, "goal": {"@licence"}, "repo": {"/src/greeter"}, "set:year": {"2026"}, "set:other": {"x"}}
	if r := v.post("/start", form); r.code != http.StatusSeeOther {
		t.Fatalf("%d %s", r.code, r.body)
	}
	if got, want := s.engine.acted(), `start "@licence year=2026" in /src/greeter with `; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
