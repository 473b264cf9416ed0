package patch_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/patch"
)

// FuzzPlan feeds diffs to a small tree. Whatever they are, they are refused in the
// words of the contract, or the change holds together.
func FuzzPlan(f *testing.F) {
	for _, c := range corpus(f, "testdata/cases_synthetic.jsonl") {
		if c.DiffTextGen == nil {
			f.Add([]byte(c.Files["src/util.go"]), c.raw())
		}
	}
	f.Fuzz(func(t *testing.T, before, diff []byte) {
		tree := memory{files: map[string]patch.File{
			"src/util.go": {Mode: patch.Regular, Content: before},
			"README.md":   {Mode: patch.Regular, Content: []byte("# demo\n\none\ntwo\n")},
			"run.sh":      {Mode: patch.Executable, Content: []byte("true\n")},
		}, entries: map[string]patch.EntryKind{"link": patch.Symlink}}
		c, err := patch.Plan(tree, diff, patch.Limits{})
		if err != nil {
			wellRefused(t, err)
			return
		}
		holdsTogether(t, tree, c)
		noLoneReturn(t, diff, c)
	})
}

// noLoneReturn checks that a diff without carriage returns leaves none alone at the
// end of a file.
func noLoneReturn(t *testing.T, diff []byte, c *patch.Change) {
	t.Helper()
	lone := func(f *patch.File) bool { return f != nil && bytes.HasSuffix(f.Content, []byte("\r")) }
	for _, f := range c.Files {
		if !bytes.Contains(diff, []byte("\r")) && lone(f.After) && !lone(f.Before) {
			t.Errorf("%s ends in a lone carriage return", f.Path)
		}
	}
}

var refusalKinds = []patch.RefusalKind{patch.Truncated, patch.Envelope, patch.NotADiff, patch.BadPath, patch.Policy, patch.NoSuchFile, patch.Exists,
	patch.ContextNotFound, patch.Ambiguous, patch.AlreadyApplied, patch.DeletedLineDiffers, patch.Overlap, patch.TooBig}

func wellRefused(t *testing.T, err error) {
	t.Helper()
	r, ok := errors.AsType[*patch.Refusal](err)
	if !ok || !slices.Contains(refusalKinds, r.Kind) || r.Message == "" {
		t.Errorf("refused with %v", err)
	}
}

// holdsTogether checks the invariants of every change: it is about files that can be,
// it does something, its diff makes it again, and go-gitdiff reads that diff as it is meant.
func holdsTogether(t *testing.T, tree memory, c *patch.Change) {
	t.Helper()
	if len(c.Files) == 0 {
		t.Fatal("a change of nothing")
	}
	diff := c.Diff()
	again, err := patch.Plan(tree, diff, patch.Limits{})
	if err != nil {
		t.Fatalf("the diff of the change is refused: %v\n%s", err, diff)
	}
	if !sameFiles(c.Files, again.Files) || !bytes.Equal(again.Diff(), diff) || len(again.Repairs) > 0 {
		t.Fatalf("the diff of the change makes another change: %+v\n%s\nnot\n%s", again.Repairs, again.Diff(), diff)
	}
	for _, f := range c.Files {
		switch {
		case f.Before != nil && f.After != nil && f.Path == f.OldPath:
			t.Errorf("%s is moved to itself", f.Path)
		case (f.Kind == patch.Modified) && bytes.Equal(f.Before.Content, f.After.Content):
			t.Errorf("%s is modified and the same", f.Path)
		}
	}
	secondOpinion(t, tree, c, diff)
}

func sameFiles(a, b []patch.FileChange) bool {
	return slices.EqualFunc(a, b, func(a, b patch.FileChange) bool {
		return a.Path == b.Path && a.OldPath == b.OldPath && a.Kind == b.Kind && a.Added == b.Added && a.Deleted == b.Deleted &&
			sameFile(a.Before, b.Before) && sameFile(a.After, b.After)
	})
}

func sameFile(a, b *patch.File) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Mode == b.Mode && bytes.Equal(a.Content, b.Content)
}

// secondOpinion applies the canonical diff with another program's reading of the format.
func secondOpinion(t *testing.T, tree memory, c *patch.Change, diff []byte) {
	t.Helper()
	files, _, err := gitdiff.Parse(bytes.NewReader(diff))
	if err != nil {
		t.Fatalf("go-gitdiff cannot read the diff: %v\n%s", err, diff)
	}
	if len(files) != len(c.Files) {
		t.Fatalf("go-gitdiff reads %d files, not %d\n%s", len(files), len(c.Files), diff)
	}
	for i, f := range files {
		want := c.Files[i]
		var before []byte
		if want.Before != nil {
			before = want.Before.Content
		}
		var after bytes.Buffer
		if err := gitdiff.Apply(&after, bytes.NewReader(before), f); err != nil {
			t.Fatalf("go-gitdiff does not apply the diff of %s: %v\n%s", want.Path, err, diff)
		}
		if f.IsDelete != (want.After == nil) || f.IsNew != (want.Before == nil) || f.IsRename != (want.Kind == patch.Renamed) || f.IsCopy != (want.Kind == patch.Copied) {
			t.Errorf("go-gitdiff takes %s for another kind of change\n%s", want.Path, diff)
		}
		if want.After != nil && (f.NewName != want.Path || !bytes.Equal(after.Bytes(), want.After.Content)) {
			t.Errorf("go-gitdiff makes %s otherwise: %q\n%s", want.Path, after.Bytes(), diff)
		}
	}
}

// FuzzAnswer feeds raw answers to the whole way from answer to change.
func FuzzAnswer(f *testing.F) {
	for _, c := range corpus(f, "testdata/cases_synthetic.jsonl") {
		if c.DiffTextGen == nil {
			f.Add(c.raw())
		}
	}
	tree := memory{files: map[string]patch.File{"src/util.go": {Mode: patch.Regular, Content: []byte("package main\n\nfunc add(a, b int) int {\n\treturn a + b\n}\n")}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := patch.CheckAnswer(tree, raw, "stop", patch.Limits{})
		if _, err := r.MarshalJSON(); err != nil {
			t.Error(err)
		}
		a, err := answer.Parse(raw, "stop")
		if (err != nil || a.Kind != answer.Patch) && r.Result == patch.Applied {
			t.Errorf("applied what is no patch: %v", err)
		}
	})
}
