package webui_test

import (
	"strings"
	"testing"
)

// TestAPageWhoseNamePointsHereCannotUseTheWebUI is a browser in the state after a DNS rebinding: the name of a page of another
// fixture leads to the Web UI, which is of the page's own origin then. Finding B5.
func TestAPageWhoseNamePointsHereCannotUseTheWebUI(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1000, 800, "--host-resolver-rules=MAP evil.example 127.0.0.1")
	s := newFixture(t, greetGo)
	b.enter(s)
	in := s.input("Greet people politely", s.replay(map[string]string{"plan-1": plan,
		"execute-1": greeting("put a comma after Hello", `"Hello " + name`, `"Hello, " + name`)}), "true")
	s.begin(in)

	const attack = `return Promise.all(["/api/v1/namespaces/default/workflows", "/api/v1/settings", "/healthz"].map(path =>
		fetch("/temporal" + path).then(r => r.text().then(text => r.status + " " + text))))
		.then(answers => answers.concat("cookie " + document.cookie))`
	own := s.ui + "/healthz"
	b.open(own)
	heard := ""
	awaitOr(t, "its own page hears of the run", func() string { return heard }, func() bool {
		heard = strings.Join(eval[[]string](b, attack), "\n")
		return strings.Contains(heard, in.RunID.WorkflowID())
	})
	b.open(strings.Replace(own, "127.0.0.1", "evil.example", 1))
	b.awaitText("Ratchet's review page is at " + s.page.URL)
	for _, heard := range eval[[]string](b, attack) {
		if !strings.HasPrefix(heard, "421 ") && heard != "cookie " {
			t.Errorf("the page heard %s", heard)
		}
	}
}
