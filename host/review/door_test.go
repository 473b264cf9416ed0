package review_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const decidePath = "/runs/r1/decide"

// atGate is a page with a run that waits for the approval of a patch.
func atGate(t *testing.T, c review.Config) *served {
	t.Helper()
	e := newEngine(t, "be polite")
	e.propose("put a comma", patchText)
	return serve(t, c, e)
}

// TestWhoMayDecide attacks the page and approves afterwards with the same form: what was refused was refused for the
// one thing that the attacker lacks.
func TestWhoMayDecide(t *testing.T) {
	for name, attack := range map[string]func(v *visitor, form url.Values) reply{
		"no session": func(v *visitor, form url.Values) reply { v.cookie = ""; return v.post(decidePath, form) },
		"a session of another page": func(v *visitor, form url.Values) reply {
			other := atGate(v.s.t, review.Config{}).enter("kim")
			_, value, _ := strings.Cut(other.cookie, "=")
			own, _, _ := strings.Cut(v.cookie, "=")
			v.cookie = own + "=" + value
			return v.post(decidePath, form)
		},
		"a session that says another name": func(v *visitor, form url.Values) reply {
			parts := strings.Split(v.cookie, ".")
			parts[2] = "cm9vdA"
			v.cookie = strings.Join(parts, ".")
			return v.post(decidePath, form)
		},
		"a session with a later end": func(v *visitor, form url.Values) reply {
			parts := strings.Split(v.cookie, ".")
			parts[1] += "0"
			v.cookie = strings.Join(parts, ".")
			return v.post(decidePath, form)
		},
		"no token": func(v *visitor, form url.Values) reply { form.Del("token"); return v.post(decidePath, form) },
		"the token in the query": func(v *visitor, form url.Values) reply {
			token := form.Get("token")
			form.Del("token")
			return v.post(decidePath+"?token="+token, form)
		},
		"the token of another's session": func(v *visitor, form url.Values) reply {
			form.Set("token", v.s.enter("mallory").token())
			return v.post(decidePath, form)
		},
		"a page of another origin": func(v *visitor, form url.Values) reply {
			v.origin = "http://evil.example"
			return v.post(decidePath, form)
		},
		"a page at another port": func(v *visitor, form url.Values) reply {
			v.origin = "http://127.0.0.1:1"
			return v.post(decidePath, form)
		},
		"a page without an origin":   func(v *visitor, form url.Values) reply { v.origin = "null"; return v.post(decidePath, form) },
		"a client without an origin": func(v *visitor, form url.Values) reply { v.origin = ""; return v.post(decidePath, form) },
		"a browser that says it": func(v *visitor, form url.Values) reply {
			v.header.Set("Sec-Fetch-Site", "same-site")
			v.header.Set("Sec-Fetch-Mode", "navigate")
			return v.post(decidePath, form)
		},
		"a name that leads here": func(v *visitor, form url.Values) reply { v.host = "evil.example"; return v.post(decidePath, form) },
		"that name, and its own origin": func(v *visitor, form url.Values) reply {
			v.host, v.origin = "evil.example:"+v.s.port(), "http://evil.example:"+v.s.port()
			return v.post(decidePath, form)
		},
		"a GET": func(v *visitor, form url.Values) reply { return v.get(decidePath + "?" + form.Encode()) },
		"a PUT": func(v *visitor, form url.Values) reply {
			return v.send(http.MethodPut, decidePath, "application/x-www-form-urlencoded", form.Encode())
		},
		"a form of another kind": func(v *visitor, form url.Values) reply {
			return v.send(http.MethodPost, decidePath, "text/plain", form.Encode())
		},
		"a header of a proxy": func(v *visitor, form url.Values) reply {
			v.cookie = ""
			v.header.Set("X-Forwarded-User", "kim")
			return v.post(decidePath, form)
		},
		"the id of another patch": func(v *visitor, form url.Values) reply {
			form.Set("id", "apr-1-000000000000")
			return v.post(decidePath, form)
		},
		"no id":                   func(v *visitor, form url.Values) reply { form.Del("id"); return v.post(decidePath, form) },
		"neither a yes nor a no":  func(v *visitor, form url.Values) reply { form.Del("verb"); return v.post(decidePath, form) },
		"a run that is not there": func(v *visitor, form url.Values) reply { return v.post("/runs/other/decide", form) },
		"a form of a megabyte more": func(v *visitor, form url.Values) reply {
			form.Set("text", strings.Repeat("a", 2<<20))
			return v.post(decidePath, form)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := atGate(t, review.Config{})
			v := s.enter("kim")
			control := *v
			form := v.yes()
			again := v.yes()
			if r := attack(v, form); r.code < 400 {
				t.Errorf("the answer is %d: %.300s", r.code, r.body)
			}
			if took := s.engine.messages(); len(took) > 0 {
				t.Fatalf("the run has taken %q", took)
			}
			control.header = http.Header{}
			if r := control.post(decidePath, again); r.code != http.StatusSeeOther || len(s.engine.messages()) != 1 {
				t.Errorf("control: %d %.300s %q", r.code, r.body, s.engine.messages())
			}
		})
	}
}

// A form that is sent twice changes nothing the second time: a decision by its id, a note by the name of its form.
func TestAFormSentAgain(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	note := url.Values{"token": {v.token()}, "once": {"ABCDEFGHIJ"}, "text": {"use a table test"}}
	for range 3 {
		if r := v.post("/runs/r1/note", note); r.code != http.StatusSeeOther {
			t.Errorf("note: %d %.300s", r.code, r.body)
		}
	}
	yes := v.yes()
	for i, want := range []int{http.StatusSeeOther, http.StatusConflict, http.StatusConflict} {
		if r := v.post(decidePath, yes); r.code != want {
			t.Errorf("approval %d: %d %.300s", i+1, r.code, r.body)
		}
	}
	if took := s.engine.messages(); len(took) != 2 {
		t.Errorf("the run has taken %q", took)
	}
	other := url.Values{"token": {v.token()}, "once": {"KLMNOPQRST"}, "text": {"use a table test"}}
	if v.post("/runs/r1/note", other); len(s.engine.messages()) != 3 {
		t.Error("control: a note of another form is another note")
	}
}

func TestNothingIsShownWithoutASession(t *testing.T) {
	s := atGate(t, review.Config{})
	in := s.enter("kim")
	for _, path := range []string{"/", "/runs/r1", "/runs/r1/patch", "/runs/other", "/login?x", "/nothing"} {
		r := s.visitor().get(path)
		if strings.Contains(r.body, "comma") || strings.Contains(r.body, "greeter") || strings.Contains(r.body, "name=\"token\"") || r.code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
	}
	named := s.visitor() // by a proxy that is not configured
	for _, header := range []string{"X-Forwarded-User", "X-Remote-User", "Remote-User", "Authorization"} {
		named.header.Set(header, "kim")
	}
	if r := named.get("/runs/r1"); r.code != http.StatusUnauthorized || strings.Contains(r.body, "comma") {
		t.Errorf("with the headers of a proxy: %d %s", r.code, r.body)
	}
	for _, path := range []string{"/live", "/runs/r1/live"} {
		if r := s.visitor().get(path); r.code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
	}
	if r := in.get("/runs/r1"); r.code != http.StatusOK || !strings.Contains(r.body, "comma") {
		t.Errorf("control: %d %s", r.code, r.body)
	}
	lured := *in
	lured.host = "evil.example:" + s.port()
	if r := lured.get("/runs/r1"); r.code != http.StatusMisdirectedRequest || strings.Contains(r.body, "comma") {
		t.Errorf("by another name: %d %s", r.code, r.body)
	}
}

// A page of another site gets nothing of a run, though the browser sent the cookie. A link there leads to the page by a
// step of our own, at which the browser sends it.
func TestALinkOfAnotherSite(t *testing.T) {
	s := atGate(t, review.Config{})
	for _, site := range []string{"cross-site", "same-site"} {
		v := s.enter("kim")
		v.header.Set("Sec-Fetch-Site", site)
		if r := v.get("/runs/r1"); r.code != http.StatusForbidden || strings.Contains(r.body, "comma") {
			t.Errorf("%s, as a part: %d %s", site, r.code, r.body)
		}
		v.header.Set("Sec-Fetch-Mode", "navigate")
		r := v.get("/runs/r1?a=%22%3E%3Cscript%3E")
		if r.code != http.StatusOK || strings.Contains(r.body, "comma") || strings.Contains(r.body, "<script") || !strings.Contains(r.body, `href="/runs/r1?a=`) {
			t.Errorf("%s, as a link: %d %s", site, r.code, r.body)
		}
	}
}

func TestALoginLinkOpensThePageOnce(t *testing.T) {
	s := atGate(t, review.Config{})
	other := atGate(t, review.Config{})
	now := time.Now()
	place := s.server.Place()
	link := place.Login("kim", "/runs/r1", now)
	for name, bad := range map[string]string{
		"nothing": "", "of another page": other.server.Place().Login("kim", "/", now), "too old": place.Login("kim", "/", now.Add(-review.LoginLife-time.Minute)),
		"with a later end": "#" + strings.Replace(code(link), ".", ".9", 1), "of another nonce": strings.Replace(link, "#", "#A", 1),
		"of another name": strings.Replace(link, ".a2lt.", ".cm9vdA.", 1),
	} {
		if r := s.visitor().redeem(bad); r.code != http.StatusUnauthorized || r.header.Get("Set-Cookie") != "" {
			t.Errorf("a code %s: %d %s", name, r.code, r.body)
		}
	}
	far := s.visitor()
	far.origin = "http://evil.example"
	if r := far.redeem(link); r.code != http.StatusForbidden {
		t.Errorf("by a page of another origin: %d %s", r.code, r.body)
	}
	v := s.visitor()
	r := v.redeem(link)
	cookie := r.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie is %q, without %s", cookie, want)
		}
	}
	if r := v.get("/runs/r1"); r.code != http.StatusOK || !strings.Contains(r.body, `<span class="who">kim</span>`) {
		t.Errorf("with the session: %d %s", r.code, r.body)
	}
	if r := s.visitor().redeem(link); r.code != http.StatusUnauthorized || !strings.Contains(r.body, "used") {
		t.Errorf("a second time: %d %s", r.code, r.body)
	}
	if r := v.send(http.MethodPost, "/login", "text/plain", code(link)); r.code != http.StatusNoContent {
		t.Errorf("a second time by who is in: %d %s", r.code, r.body)
	}
}

// Every answer keeps the page out of others, and scripts of others out of the page.
func TestEveryAnswerHasTheHeaders(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	for _, path := range []string{"/", "/runs/r1", "/login", "/nothing", "/runs/r1/patch", "/assets/none"} {
		h := v.get(path).header
		csp := h.Get("Content-Security-Policy")
		if strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(csp, "script-src 'self';") ||
			h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
	if body := v.get("/runs/r1").body; strings.Contains(body, "<script>") || strings.Contains(body, " style=") || strings.Contains(body, " onclick") {
		t.Error("a script or a style stands in the page itself")
	}
}

// Words that a run refuses stay in the form, with the lines that they are about.
func TestARefusedFormKeepsItsWords(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	form := v.yes()
	form.Set("verb", "reject")
	form.Set("text", "too long: "+strings.Repeat("x", 9000))
	form.Set("remark:new:5:greet.go", "lower case </textarea><script>")
	r := v.post(decidePath, form)
	if r.code != http.StatusConflict || !strings.Contains(r.body, "text is longer than") || !strings.Contains(r.body, "too long: xxx") ||
		!strings.Contains(r.body, "greet.go:5: return") || strings.Contains(r.body, "</textarea><script>") || len(s.engine.messages()) > 0 {
		t.Errorf("%d: %.600s", r.code, r.body)
	}
	form.Set("text", "shorter")
	if r := v.post(decidePath, form); r.code != http.StatusSeeOther || !strings.Contains(s.engine.messages()[0], "shorter\n\ngreet.go:5: return \"Hello, \" + name\n  lower case </textarea><script>") {
		t.Errorf("%d: %q", r.code, s.engine.messages())
	}
}

// The address behind a form has the word for what it did, and nothing else is said on the page.
func TestThePageSaysWhatAFormDid(t *testing.T) {
	v := atGate(t, review.Config{}).enter("kim")
	for word, text := range map[string]string{
		"approved": "Approved.", "rejected": "Sent back.", "ended": "the run ends", "part": "Accepted:", "allowed": "Allowed.",
		"answered": "Answered.", "noted": "Noted for", "canceled": "You canceled",
	} {
		if r := v.get("/runs/" + string(runID) + "?said=" + word); !strings.Contains(said(r.body), text) {
			t.Errorf("%s: %q", word, said(r.body))
		}
	}
	if r := v.get("/runs/" + string(runID) + "?said=Send+money"); r.code != http.StatusOK || said(r.body) != "" {
		t.Errorf("%d, a link says %q", r.code, said(r.body))
	}
}

func said(body string) string {
	_, rest, _ := strings.Cut(body, `<p class="said" role="status">`)
	text, _, _ := strings.Cut(rest, "</p>")
	return text
}

// Some files of a patch are accepted by their names, and an attempt by its own id.
func TestSomeFilesAreAccepted(t *testing.T) {
	e := newEngine(t, "be polite")
	e.propose("two files", patchText+strings.ReplaceAll(patchText, "greet.go", "other.go"))
	s := serve(t, review.Config{}, e)
	v := s.enter("kim")
	form := v.yes()
	form.Set("verb", "part")
	if r := v.post(decidePath, form); r.code != http.StatusConflict || !strings.Contains(r.body, "mark the files") {
		t.Errorf("without a file: %d", r.code)
	}
	form["file"] = []string{"other.go"}
	if r := v.post(decidePath, form); r.code != http.StatusSeeOther || len(e.messages()) != 1 || !strings.Contains(e.messages()[0], "files [other.go]") {
		t.Errorf("%d: %q", r.code, e.messages())
	}
}

// Some hunks of a file are accepted by their numbers, and a file that is marked as a whole is not cut.
func TestSomeHunksAreAccepted(t *testing.T) {
	e := newEngine(t, "be polite")
	two := patchText + "@@ -30,1 +30,2 @@\n x\n+y\n"
	e.propose("two files", two+strings.ReplaceAll(two, "greet.go", "other.go"))
	v := serve(t, review.Config{}, e).enter("kim")
	if body := v.get("/runs/r1").body; !strings.Contains(body, `name="hunk" value="greet.go:2"`) {
		t.Fatalf("no hunk can be marked:\n%s", body)
	}
	form := v.yes()
	form.Set("verb", "part")
	form["file"], form["hunk"] = []string{"other.go"}, []string{"greet.go:2", "other.go:1"}
	if r := v.post(decidePath, form); r.code != http.StatusSeeOther || !strings.Contains(strings.Join(e.messages(), "|"), "files [other.go]") || !strings.Contains(strings.Join(e.messages(), "|"), "hunks [{greet.go [2]}]") {
		t.Errorf("%d: %q", r.code, e.messages())
	}
}

// A patch is edited on the page. One that the run refuses stays in its field, with the reason.
func TestAPatchIsEdited(t *testing.T) {
	e := newEngine(t, "be polite")
	e.propose("a patch", patchText)
	v := serve(t, review.Config{}, e).enter("kim")
	if body := v.get("/runs/r1").body; !strings.Contains(body, `name="patch"`) {
		t.Fatalf("no field for an edit:\n%s", body)
	}
	form := v.yes()
	form.Set("verb", "edit")
	form.Set("patch", "refuse me <b>")
	if r := v.post(decidePath, form); r.code != http.StatusConflict || !strings.Contains(r.body, "line 3 is not there") || !strings.Contains(r.body, "refuse me &lt;b&gt;</textarea>") {
		t.Errorf("an edit that does not apply: %d\n%s", r.code, r.body)
	}
	form.Set("patch", "a diff\r\nof mine")
	if r := v.post(decidePath, form); r.code != http.StatusSeeOther || r.header.Get("Location") != "/runs/r1?said=edited" || len(e.messages()) != 1 || !strings.HasSuffix(e.messages()[0], "a diff\nof mine") {
		t.Errorf("%d to %s: %q", r.code, r.header.Get("Location"), e.messages())
	}
}

// A tool's whole input is shown: the command as a person types it, and beside it each other member.
func TestAToolsInputIsShown(t *testing.T) {
	for input, want := range map[string][]string{
		`{"command":"id > who.txt\nrm -rf /","description":"find out","timeout":5}`: {"<pre class=\"input\" tabindex=\"0\">id &gt; who.txt\nrm -rf /</pre>", "<dt>description</dt><dd><pre>find out</pre></dd>", "<dt>timeout</dt><dd><pre>5</pre></dd>"},
		`{"file_path":"a.go","old_string":"<b>","new_string":"\u202e"}`:             {"a.go</pre>", "<pre>&lt;b&gt;</pre>", "<pre>&lt;U&#43;202E&gt;</pre>"},
		`[1,2]`: {"<dt>input</dt><dd><pre>[1,2]</pre></dd>"},
	} {
		e := newEngine(t, "be polite")
		ref := e.keep("execute/permission.json", input)
		e.emit(e.s.NewPermission(run.Permission{CallID: "c", Tool: "Bash", Digest: ref.Digest, Input: ref, Excerpt: input}))
		v := serve(t, review.Config{}, e).enter("kim")
		body := v.get("/runs/r1").body
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s: %q is not shown:\n%s", input, text, body)
			}
		}
	}
}

// A form that was refused shows the attempt that it was of: another's patch must not stand above its buttons. The words
// of a note are in the note's own field.
func TestARefusedFormShowsItsAttempt(t *testing.T) {
	e := newEngine(t, "be polite")
	second := run.Proposal{Patch: e.keep("execute/iter-0001.2.patch", strings.ReplaceAll(patchText, "greet.go", "small.go")), Base: e.s.Head, Summary: "small", Stat: run.Stat{Files: 1, Added: 1, Deleted: 1}}
	first := e.keep("execute/iter-0001.patch", patchText)
	e.emit(run.PatchProduced{
		Proposal: run.Proposal{Patch: first, Raw: first, Base: e.s.Head, Summary: "large", Stat: second.Stat}, Candidate: 1,
		Rivals: []run.Candidate{{Number: 2, Provider: "replay:x", Proposal: &second, Passed: true}},
	})
	asked := e.s.NewApproval()
	e.emit(asked)
	if len(asked.Choices) != 1 {
		t.Fatalf("choices %+v", asked.Choices)
	}
	v := serve(t, review.Config{}, e).enter("kim")
	form := v.yes()
	form.Set("id", asked.Choices[0].ApprovalID)
	form.Set("verb", "reject")
	r := v.post(decidePath, form)
	if r.code != http.StatusConflict || !strings.Contains(r.body, "small.go") || strings.Contains(r.body, `data-file="greet.go"`) || !strings.Contains(r.body, "decide?approval="+asked.Choices[0].ApprovalID) {
		t.Errorf("%d: %.3000s", r.code, r.body)
	}
	note := v.yes()
	note.Set("once", "n1")
	note.Set("text", strings.Repeat("語", 3000))
	r = v.post("/runs/r1/note", note)
	_, field, _ := strings.Cut(r.body, `<textarea id="note"`)
	if r.code != http.StatusConflict || !strings.Contains(field, "語語語") || strings.Count(r.body, "語語語") != strings.Count(field, "語語語") {
		t.Errorf("%d, the note's field: %.300s", r.code, field)
	}
}

// The page shows the end of a long output, where a test says why it fails.
func TestTheEndOfALongOutputIsShown(t *testing.T) {
	for name, c := range map[string]check.Result{
		"kept whole": {Head: strings.Repeat("ok\n", 3000), Tail: "--- FAIL: TestX\n", Bytes: 9016},
		"cut":        {Head: strings.Repeat("ok\n", 3000), Tail: "--- FAIL: TestX\n", Bytes: 90160},
	} {
		e := newEngine(t, "be polite")
		c.Command, c.Status = "go test", check.Fail
		b, err := json.Marshal(check.Report{Checks: []check.Result{c}})
		if err != nil {
			t.Fatal(err)
		}
		e.propose("p", patchText)
		e.emit(run.ApprovalGranted{ApprovalID: e.pending()}, run.PatchApplied{Patch: run.DigestOf([]byte(patchText)), Base: e.s.Head, Commit: "1"})
		e.emit(run.PhaseCompleted{Result: e.s.Outcome}, run.PhaseStarted{Role: run.Evaluator})
		e.emit(run.EvaluationFailedFixable{Evaluation: run.Evaluation{Report: e.keep("evaluate/iter-0001.json", string(b))}})
		body := serve(t, review.Config{}, e).enter("kim").get("/runs/r1").body
		if !strings.Contains(body, "--- FAIL: TestX") || strings.Contains(body, "…\n--- FAIL") != (name == "cut") {
			t.Errorf("%s: the output ends with %.200s", name, body[strings.LastIndex(body, "ok\n"):])
		}
	}
}
