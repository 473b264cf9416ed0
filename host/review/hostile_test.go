package review_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// hostileNames are names of files that would be markup, an address, or another name to a reader.
var hostileNames = []string{
	`<img src=x onerror=pwned()>.go`, `"><script>pwned()</script>.go`, "x\u202egnp.exe", "../../etc/passwd", "javascript:pwned()", "a\u200bb.go", "p\u0430ypal.go",
	"{{.Caller.Form}}", "remark:new:1:other.go",
}

func added(name, text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return fmt.Sprintf("diff --git \"a/%[1]s\" \"b/%[1]s\"\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..2222222222222222222222222222222222222222\n--- /dev/null\n+++ \"b/%[1]s\"\n@@ -0,0 +1,%[2]d @@\n+%[3]s\n",
		strings.ReplaceAll(name, `"`, `\"`), len(lines), strings.Join(lines, "\n+"))
}

// exactNames matches the attributes by which a form names a file to the run. A reader does not see them.
var exactNames = regexp.MustCompile(` (data-file|name="file" value)="[^"]*"`)

// Names of files, and what people and models have written, are text on the page, each character of it visible; the
// run is told exactly the names that were shown.
func TestHostileNamesAreText(t *testing.T) {
	patch := ""
	for _, name := range hostileNames {
		patch += added(name, "a := 1\n")
	}
	e := newEngine(t, "be\u202e polite </p><script>pwned()</script>")
	e.propose("put a </h2><script>pwned()</script>\u2066 comma", patch)
	s := serve(t, review.Config{}, e)
	v := s.enter(`kim"><script>pwned()</script>`)
	body := v.get("/runs/r1").body
	shown := exactNames.ReplaceAllString(body, "")
	if strings.Count(body, "data-file=") != len(hostileNames) {
		t.Fatalf("%d files are shown:\n%s", strings.Count(body, "data-file="), body)
	}
	if strings.ContainsAny(shown, "\u202e\u200b\u2066") || strings.Contains(body, "<img") || strings.Contains(body, "<script>") || strings.Contains(shown, "p\u0430ypal") ||
		regexp.MustCompile(`(href|src|action)="(javascript|data):`).MatchString(body) {
		t.Errorf("a name is not text:\n%s", shown)
	}
	form := v.yes()
	form.Set("verb", "reject")
	for _, name := range hostileNames {
		form.Set("remark:new:1:"+name, "no </textarea>\u202e")
	}
	if r := v.post(decidePath, form); r.code != http.StatusSeeOther || len(e.messages()) != 1 {
		t.Fatalf("%d: %.400s %q", r.code, r.body, e.messages())
	}
	for _, name := range hostileNames {
		if told := e.messages()[0]; !strings.Contains(told, name+":1: a := 1\n") {
			t.Errorf("the run is not told of %q:\n%s", name, told)
		}
	}
	if rejected := v.get("/runs/r1").body; strings.Contains(rejected, "</textarea>") && strings.Contains(rejected, "no </textarea>") || strings.Contains(rejected, "<script>") {
		t.Errorf("the reason is not text:\n%s", rejected)
	}
}

// No address of the page leads to a file of this machine, nor to anything but the pages, and no field does.
func TestNoAddressLeadsElsewhere(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	for _, path := range []string{
		"/runs/..%2f..%2f..%2fetc%2fpasswd", "/runs/%2e%2e/live", "/runs/r1/..%2f..%2fetc%2fpasswd", "/runs/r1/%2e%2e/%2e%2e/etc/passwd", "/runs/r1%00", "/runs//r1", "/runs/",
		"/assets/../web/run.html", "/assets/..%2fweb%2frun.html", "/assets/", "//evil.example/runs/r1", "/runs/r1/file", "/runs/r1/file?file=-1", "/runs/r1/file?file=99999999999999999999",
		"/runs/r1/file?file=..%2f..%2fetc%2fpasswd", "/runs/r1/decide", "/runs/r1/note", "/runs/r1/nothing",
	} {
		if r := v.get(path); r.code != http.StatusNotFound || strings.Contains(r.body, "root:") || strings.Contains(r.body, "{{") || r.header.Get("Location") != "" {
			t.Errorf("%s: %d %.300s", path, r.code, r.body)
		}
	}
	if r := v.get("/runs/r1/file?file=0"); r.code != http.StatusOK || !strings.Contains(r.body, "greet.go") {
		t.Errorf("control: %d %.300s", r.code, r.body)
	}
	for name, form := range map[string]url.Values{
		"an act that is none":     {"token": {v.token()}},
		"a note without its name": {"token": {v.token()}, "text": {"use tabs"}},
		"a name without an end":   {"token": {v.token()}, "text": {"use tabs"}, "once": {strings.Repeat("x", 1000)}},
	} {
		if r := v.post("/runs/r1/note", form); r.code < 400 {
			t.Errorf("%s: %d %.300s", name, r.code, r.body)
		}
	}
	if took := s.engine.messages(); len(took) > 0 {
		t.Errorf("the run has taken %q", took)
	}
}

// A patch of any size makes a page of a few megabytes, which says what it leaves out, and the whole patch is a link
// away. A refresh by a page that shows the patch already is sent none of it.
func TestALongPatchMakesABoundedPage(t *testing.T) {
	need.Suite(t, need.CI)
	const most = 8 << 20
	for name, patch := range map[string]string{
		"short lines":    added("long.txt", strings.Repeat("x\n", 200_000)),
		"code":           added("long.go", strings.Repeat("x := func() string { return \"a\" } // b\n", 30_000)),
		"one line":       added("long.json", strings.Repeat("[", 1<<20)),
		"many files":     manyFiles(6_000),
		"hard to colour": added("x.html", strings.Repeat("<a b='\n", 60_000)),
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, "be long")
			e.propose("long", patch)
			s := serve(t, review.Config{}, e)
			v := s.enter("kim")
			r := v.get("/runs/r1")
			if r.code != http.StatusOK || len(r.body) > most || !strings.Contains(r.body, "left out here") || !strings.Contains(r.body, `href="/runs/r1/patch?`) {
				t.Errorf("%d: %d bytes: %.600s", r.code, len(r.body), r.body)
			}
			if whole := v.get("/runs/r1/patch"); whole.body != patch || whole.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("the whole patch: %d, %d bytes", whole.code, len(whole.body))
			}
			link := regexp.MustCompile(`href="(/runs/r1/file[^"]*)"`).FindStringSubmatch(r.body)
			if (link != nil) != strings.Contains(r.body, "of this file") {
				t.Errorf("a part of a file is left out, and the rest has the link %q", link)
			}
			if link != nil {
				more := v.get(strings.ReplaceAll(link[1], "&amp;", "&"))
				if more.code != http.StatusOK || len(more.body) > 3*most || strings.Count(more.body, `class="ln`) <= strings.Count(r.body, `class="ln`)/2 {
					t.Errorf("the page of a file: %d, %d bytes", more.code, len(more.body))
				}
			}
			v.header.Set("Ratchet-Shown", e.pending())
			if again := v.get("/runs/r1"); again.code != http.StatusOK || len(again.body) > 64<<10 || !strings.Contains(again.body, `data-wait="`+e.pending()+`"`) {
				t.Errorf("a refresh: %d, %d bytes", again.code, len(again.body))
			}
		})
	}
}

// A line that is too long for the page is whole on the page of its file, to which the page of the run leads.
func TestTheEndOfALongLineIsALinkAway(t *testing.T) {
	const end = "HIDDENPAYLOAD()"
	e := newEngine(t, "be long")
	e.propose("long", added("short.go", "a\n")+added("long.js", "b\n"+strings.Repeat("x", 2_200)+end+"\nc\n"))
	v := serve(t, review.Config{}, e).enter("kim")
	body := v.get("/runs/r1").body
	if strings.Contains(body, end) || strings.Count(body, "the rest of 1 line") != 2 || !strings.Contains(body, `href="/runs/r1/patch?`) {
		t.Errorf("the page does not say what it leaves out:\n%s", body)
	}
	links := regexp.MustCompile(`href="(/runs/r1/file[^"]*)"`).FindAllStringSubmatch(body, -1)
	if len(links) != 1 {
		t.Fatalf("the page leads to %q", links)
	}
	more := v.get(strings.ReplaceAll(links[0][1], "&amp;", "&")).body
	if !strings.Contains(more, "long.js") || !strings.Contains(more, end) || strings.Contains(more, "more bytes") || strings.Contains(more, "of this file") {
		t.Errorf("the page of the file:\n%s", more)
	}
}

// What even the page of a file has no room for is in the whole patch.
func TestALineThatNoPageHolds(t *testing.T) {
	e := newEngine(t, "be long")
	e.propose("long", added("long.txt", strings.Repeat("x", 3<<20)))
	v := serve(t, review.Config{}, e).enter("kim")
	more := v.get("/runs/r1/file?file=0").body
	if len(more) < 2<<20 || len(more) > 3<<20 || !strings.Contains(more, "more bytes") || strings.Count(more, `href="/runs/r1/patch?`) != 2 {
		t.Errorf("%d bytes: %.600s", len(more), more)
	}
}

func manyFiles(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(added(fmt.Sprintf("f%d.go", i), "x\n"))
	}
	return b.String()
}
