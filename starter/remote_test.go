package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// TestRunOnAURL starts a run by a URL, from a directory with nothing in it. The repository's settings name the check; the
// branch is on the server in the end.
func TestRunOnAURL(t *testing.T) {
	t.Chdir(t.TempDir())
	runsDir := filepath.Join(t.TempDir(), "runs")
	o := gittest.NewOrigin(t)
	url := o.Serve(t)
	file := "100644 blob " + o.Blob("bad\n") + "\tstate.txt\n100644 blob " + o.Blob("check = [\"grep -q good state.txt\"]\n") + "\t.ratchet.toml\n"
	o.Git("update-ref", "refs/heads/main", o.Git("commit-tree", "-m", "first", o.Tree(file)))
	dir := answers(t)
	defer bringUp(t, runsDir)()
	b := bench{T: t, runsDir: runsDir}
	if got := b.expect(1, "run", "make it good", "--repo", url, "--provider", "replay:"+dir, "--sandbox", "off", "--detach"); !strings.Contains(got.err, "no permission") || strings.Count(got.err, "\n") != 1 {
		t.Errorf("without a credential helper: %q, want one line", got.err)
	}
	o.UseHelper(t)
	for args, want := range map[string]string{
		strings.Replace(url, "://", "://kim:hunter2@", 1): "credential helper",
		"ext::sh -c true":      "want https://HOST/PATH",
		url + "/../../missing": "no such repository",
		"file://" + o.Dir:      "protocol file",
	} {
		got := b.starter("run", "make it good", "--repo", args, "--provider", "replay:"+dir, "--sandbox", "off", "--detach")
		if got.code == 0 || !strings.Contains(got.err, want) || strings.Contains(got.err, "hunter2") || strings.Count(got.err, "\n") != 1 {
			t.Errorf("--repo %s: code %d, %q; want one line with %q", args, got.code, got.err, want)
		}
	}
	if got := b.expect(1, "run", "make it good", "--repo", url, "--base", "release", "--provider", "replay:"+dir, "--sandbox", "off", "--detach"); !strings.Contains(got.err, `base "release" is not there`) {
		t.Errorf("a missing base: %q", got.err)
	}
	id := strings.TrimSpace(b.expect(0, "run", "make it good", "--repo", url, "--provider", "replay:"+dir, "--approve", "never", "--sandbox", "off", "--detach").out)
	b.await(id, run.Completed)
	branch := b.branch(id)
	if got := o.Git("show", branch+":state.txt"); got != "good" {
		t.Errorf("the server's branch %s has %q, want good", branch, got)
	}
	var listed []struct {
		RunID      string
		Name       string
		Repository string
	}
	if err := json.Unmarshal([]byte(b.expect(0, "list", "--repo", url, "--json").out), &listed); err != nil || len(listed) != 1 || listed[0].Repository != url || listed[0].Name != "shop#1" {
		t.Errorf("the list has %+v, %v; want shop#1 of %s", listed, err, url)
	}
	if got := b.expect(0, "status", id); !strings.Contains(got.out, url) {
		t.Errorf("status does not name the URL:\n%s", got.out)
	}
	if got := b.expect(0, "diff", id); !strings.Contains(got.out, "+good") {
		t.Errorf("diff: %s", got.out)
	}
	if got := b.expect(1, "merge", id); !strings.Contains(got.err, "starter pr shop#1") {
		t.Errorf("merge: %s", got.err)
	}
	// What has come to the base meanwhile is fetched for the next run.
	next := o.Commit("main", "second")
	again := strings.TrimSpace(b.expect(0, "retry", id, "--onto", "main", "--detach").out)
	var st struct {
		Facts struct{ Repository run.Repository }
	}
	if err := json.Unmarshal([]byte(b.expect(0, "status", again, "--json").out), &st); err != nil || string(st.Facts.Repository.Base) != next || st.Facts.Repository.URL != url {
		t.Errorf("the next run is on %+v, %v; want base %s of %s", st.Facts.Repository, err, next, url)
	}
	b.expect(0, "cancel", again)
}
