package manual_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// cited is a page of docs/contracts, or what was observed of an agent's client, beside its adapter; and its sections.
	cited = regexp.MustCompile(`(docs/contracts/[a-z-]+\.md|(?:internal/agent/[a-z]+/)?CLIENT\.md)(, \d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)?`)
	// vague is a citation of a text that no reader of the repository has.
	vague    = regexp.MustCompile(`\bfacts: [a-z]|\(sections? \d|\bRELIABILITY\b|\bDESIGN\.md\b`)
	section  = regexp.MustCompile(`\d+(?:\.\d+)?`)
	lineEnds = regexp.MustCompile(`\n[ \t]*// ?`)
)

// sections returns the numbers of the headings of a page.
func sections(t *testing.T, name string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^###? (\d+(?:\.\d+)?)\.? `).FindAllStringSubmatch(page(t, "../"+name), -1) {
		found[m[1]] = true
	}
	return found
}

// TestCitationsResolve looks up every section that a Go file cites.
func TestCitationsResolve(t *testing.T) {
	pages := map[string]map[string]bool{}
	count := 0
	err := filepath.WalkDir("../../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || filepath.Base(filepath.Dir(path)) == "manual" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := lineEnds.ReplaceAllString(string(b), " ")
		for _, m := range cited.FindAllStringSubmatch(text, -1) {
			count++
			name := m[1]
			if name == "CLIENT.md" {
				name = strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../../") + "/" + name
			}
			if pages[name] == nil {
				pages[name] = sections(t, name)
			}
			for _, n := range section.FindAllString(m[2], -1) {
				if !pages[name][n] {
					t.Errorf("%s: %s has no section %s", path, name, n)
				}
			}
		}
		if m := vague.FindString(text); m != "" {
			t.Errorf("%s cites %q: cite a section of docs/contracts or CLIENT.md", path, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 100 {
		t.Errorf("only %d citations found", count)
	}
}
