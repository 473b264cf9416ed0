package manual_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/patch"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor" // the example runs under the test binary
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/command"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/verdict"
)

const docs = "../../../docs"

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(docs, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// blocks are the fenced ones of a language.
func blocks(t *testing.T, name, lang string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?s)\n```"+lang+"\n(.*?)```").FindAllStringSubmatch(page(t, name), -1) {
		found = append(found, m[1])
	}
	if len(found) == 0 {
		t.Fatalf("no %s in %s", lang, name)
	}
	return found
}

// decode refuses members that the type does not have.
func decode(t *testing.T, text string, to any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		t.Errorf("%T: %v\n%s", to, err, text)
	}
}

func TestMessagesAreOfTheTypesTheySay(t *testing.T) {
	kinds := []struct {
		member string
		to     func() any
	}{
		{`"payload"`, func() any { return new(map[string]any) }},
		{`"approval":`, func() any { return new(run.Pending) }},
		{`"approvalId"`, func() any { return new(run.Decision) }},
		{`"exitCode"`, func() any { return new(run.Baseline) }},
		{`"questionId"`, func() any { return new(run.Reply) }},
		{`"text"`, func() any { return new(run.Note) }},
		{`"taskQueue"`, func() any { return new(run.Move) }},
	}
	for _, text := range blocks(t, "messages.md", "json") {
		i := slices.IndexFunc(kinds, func(k struct {
			member string
			to     func() any
		}) bool {
			return strings.Contains(text, k.member)
		})
		if i < 0 {
			t.Errorf("of no known kind: %s", text)
			continue
		}
		decode(t, text, kinds[i].to())
		if i == 0 {
			var e run.Event
			if err := json.Unmarshal([]byte(text), &e); err != nil || e.Seq() == 0 {
				t.Errorf("event: %v", err)
			}
		}
	}
}

func TestAnswersAreReadAsTheySay(t *testing.T) {
	want := []answer.Kind{answer.Patch, answer.Ask, answer.Noop}
	for i, text := range blocks(t, "providers.md", "text") {
		if i == len(want) {
			if v, err := verdict.Parse(text); err != nil || v.Decision != verdict.Fix {
				t.Errorf("verdict %v: %v", v, err)
			}
			continue
		}
		if a, err := answer.Parse([]byte(text), "stop"); err != nil || a.Kind != want[i] {
			t.Errorf("%s: %v\n%s", want[i], err, text)
		}
	}
}

// TestTheProviderWorks runs the program of providers.md on the request of providers.md.
func TestTheProviderWorks(t *testing.T) {
	examples := blocks(t, "providers.md", "json")
	var req provider.Request
	decode(t, examples[0], &req)
	for _, text := range examples[1:] {
		decode(t, text, new(provider.Response))
	}
	program := filepath.Join(t.TempDir(), "header.py")
	if err := os.WriteFile(program, []byte(blocks(t, "providers.md", "python")[0]), 0o755); err != nil {
		t.Fatal(err)
	}
	p := command.New(command.Config{Argv: []string{need.Program(t, "python3"), program}, Dir: t.TempDir(), Environ: os.Environ()})
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := answer.Parse([]byte(resp.RawText), "stop")
	if err != nil || a.Kind != answer.Patch || !bytes.Contains(a.Diff, []byte("+# SPDX-License-Identifier: MIT\n def total")) {
		t.Errorf("%v\n%s", err, resp.RawText)
	}
	req.Phase, req.Role, req.Constraints.PatchFirst = run.Plan, run.Planner, false
	if resp, err = p.Generate(t.Context(), req, nil); err != nil || !strings.Contains(resp.RawText, "`src/shop.py`") {
		t.Errorf("%v\n%s", err, resp.RawText)
	}
}

// The provider of providers.md changes files as they are: their line ends, and the end of the last line.
func TestTheProviderOfTheManualKeepsEveryByte(t *testing.T) {
	var req provider.Request
	decode(t, blocks(t, "providers.md", "json")[0], &req)
	program := filepath.Join(t.TempDir(), "header.py")
	if err := os.WriteFile(program, []byte(blocks(t, "providers.md", "python")[0]), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"a.py": "x = 1", "b.py": "x = 1\n", "c.py": "import os\n\f\nclass A:\n    pass\n", "d.py": "x = 1\r\ny = 2\r\n", "e.py": "x = '\u2028\x1c'\n", "f.py": "x = 1\r\ny = 2",
	}
	dir := t.TempDir()
	req.ContextArtifacts = nil
	for name, text := range files {
		req.ContextArtifacts = append(req.ContextArtifacts, provider.Artifact{Name: name, Path: name, Content: text})
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := command.New(command.Config{Argv: []string{need.Program(t, "python3"), program}, Dir: t.TempDir(), Environ: os.Environ()})
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if r := patch.ApplyAnswer(root, []byte(resp.RawText), "stop", patch.Limits{}); r.Result != patch.Applied || len(r.Repairs) > 0 {
		t.Fatalf("got %+v, repairs %v; want an exact patch:\n%q", r.Error, r.Repairs, resp.RawText)
	}
	for name, text := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "# SPDX-License-Identifier: MIT\n"+text {
			t.Errorf("%s is %q, %v; want the header before %q", name, got, err, text)
		}
	}
}

// TestLinksLead follows each link of the documents to its file and heading.
func TestLinksLead(t *testing.T) {
	pages := []string{filepath.Join(docs, "../README.md"), filepath.Join(docs, "../CONTRIBUTING.md"), filepath.Join(docs, "../SECURITY.md")}
	for _, dir := range []string{"*.md", "contracts/*.md", "../internal/agent/*/CLIENT.md"} {
		found, err := filepath.Glob(filepath.Join(docs, dir))
		if err != nil || len(found) < 4 {
			t.Fatalf("%d pages: %v", len(found), err)
		}
		pages = append(pages, found...)
	}
	for _, p := range pages {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(string(b), -1) {
			to := p
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(p), m[1])
			}
			if text, err := os.ReadFile(to); m[2] != "" && err == nil && !hasHeading(string(text), m[2]) {
				t.Errorf("%s: %s has no heading #%s", p, to, m[2])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}

// hasHeading reports whether a page has a heading of this anchor.
func hasHeading(page, anchor string) bool {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestNamedTestsExist looks up every test that testing.md names as the proof of a promise.
func TestNamedTestsExist(t *testing.T) {
	there := map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(b, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)(\\*?)`").FindAllStringSubmatch(page(t, "testing.md"), -1)
	for _, m := range named {
		found := there[m[1]]
		for name := range there {
			found = found || m[2] != "" && strings.HasPrefix(name, m[1])
		}
		if !found {
			t.Errorf("testing.md names %s, which no package has", m[0])
		}
	}
	if len(named) < 40 {
		t.Errorf("got %d names in testing.md, want at least 40", len(named))
	}
}
