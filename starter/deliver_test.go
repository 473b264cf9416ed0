package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// TestABadBatchIsOneLineWithItsCode has every document that is no batch refused before anything is asked or written.
func TestABadBatchIsOneLineWithItsCode(t *testing.T) {
	job := func(id, more string) string { return fmt.Sprintf(`{"id":%q,"state":"ready"%s}`, id, more) }
	jobs := func(list ...string) string { return `{"id":"b-1","jobs":[` + strings.Join(list, ",") + `]}` }
	var many []string
	for i := range delivery.MaxJobs + 1 {
		many = append(many, job(fmt.Sprint("j-", i), ""))
	}
	long := strings.Repeat("x", delivery.MaxBatchBytes)
	for name, tc := range map[string]struct{ batch, code, says string }{
		"nothing":                         {"", "batch_invalid", ""},
		"no object":                       {"[]", "batch_invalid", ""},
		"two objects":                     {jobs(job("j", "")) + jobs(job("j", "")), "batch_invalid", ""},
		"an unknown key":                  {`{"id":"b-1","jobs":[],"priority":9}`, "batch_invalid", "priority"},
		"an unknown key of a job":         {jobs(job("j", `,"cost":1`)), "batch_invalid", "cost"},
		"an unknown key of the profile":   {`{"id":"b-1","jobs":[` + job("j", "") + `],"profile":{"trusted":true}}`, "batch_invalid", "trusted"},
		"a key in another case":           {`{"ID":"b-1","jobs":[` + job("j", "") + `]}`, "batch_invalid", "id is missing"},
		"a forced generation":             {`{"id":"b-1","jobs":[` + job("j", "") + `],"generation":7}`, "batch_invalid", "generation"},
		"a forced steer":                  {`{"id":"b-1","jobs":[` + job("j", "") + `],"kind":"turn_steer"}`, "batch_invalid", "kind"},
		"another thread":                  {`{"id":"b-1","jobs":[` + job("j", "") + `],"thread":"t-2"}`, "batch_invalid", "thread"},
		"no job":                          {jobs(), "batch_invalid", "0 jobs"},
		"a job too many":                  {jobs(many...), "batch_invalid", "9 jobs"},
		"a job twice":                     {jobs(job("j", ""), job("j", "")), "batch_invalid", "twice"},
		"an unknown state":                {jobs(`{"id":"j","state":"done"}`), "batch_invalid", "done"},
		"an id that is a path":            {`{"id":"../b","jobs":[` + job("j", "") + `]}`, "batch_invalid", "../b"},
		"a text over the cap":             {jobs(job("j", `,"summary":"`+long+`"`)), "batch_invalid", "artifacts"},
		"a document over the cap":         {jobs(job("j", `,"summary":"`+strings.Repeat(long, 9)+`"`)), "batch_invalid", "artifacts"},
		"a text that is not UTF-8":        {jobs(job("j", ",\"summary\":\"\xff\"")), "batch_invalid", ""},
		"an artifact that has no name":    {jobs(job("j", `,"artifacts":[{"digest":"x"}]`)), "batch_invalid", "artifact"},
		"an artifact with an unknown key": {jobs(job("j", `,"artifacts":[{"name":"a","path":"/etc/passwd"}]`)), "batch_invalid", "path"},
	} {
		t.Run(name, func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			r := starter(t.Context(), tc.batch, "--runs-dir", runs, "deliver", "0198c5e2", "--file", "-")
			mustRefuse(t, r, runs, tc.code, tc.says)
		})
	}
	for name, file := range map[string]string{"a missing file": filepath.Join(t.TempDir(), "none.json"), "a directory": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			mustRefuse(t, starter(t.Context(), "", "--runs-dir", runs, "deliver", "0198c5e2", "--file", file), runs, "batch_unreadable", file)
		})
	}
}

// TestNoDeliveriesNamesWhatNoLedgerHas has the list, which reads ledgers, say where the others are.
func TestNoDeliveriesNamesWhatNoLedgerHas(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	r := starter(t.Context(), "", "--runs-dir", runs, "deliveries")
	if r.code != 0 || !strings.Contains(r.out, "No deliveries yet") || !strings.Contains(r.out, "deliveries SESSION --runs-dir "+runs) {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.err)
	}
}

// mustRefuse demands one line with the code, and that nothing was written.
func mustRefuse(t *testing.T, r result, runs, code, says string) {
	t.Helper()
	text := strings.TrimSpace(r.err)
	if r.code != exit.Usage || r.out != "" || strings.Contains(text, "\n") || !strings.Contains(text, code+": ") || !strings.Contains(text, says) {
		t.Errorf("exit code %d, %q, %q; want one line with %s and %q", r.code, r.out, r.err, code, says)
	}
	if _, err := os.Lstat(runs); !os.IsNotExist(err) {
		t.Errorf("the runs directory was made: %v", err)
	}
}
