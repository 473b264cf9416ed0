package check_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
)

func result(command string, status check.Status) check.Result {
	return check.Result{Command: command, Status: status}
}

func TestVerdict(t *testing.T) {
	spoke := result("a", check.Timeout)
	spoke.Bytes = 1
	for name, test := range map[string]struct {
		checks    []check.Result
		want      check.Outcome
		failing   []string
		cannotRun []string
	}{
		"all passed":                          {[]check.Result{result("a", check.Pass), result("b", check.Pass)}, check.Passed, nil, nil},
		"one failed":                          {[]check.Result{result("a", check.Pass), result("b", check.Fail)}, check.Failed, []string{"b"}, nil},
		"a timeout with output is a failure":  {[]check.Result{spoke}, check.Failed, []string{"a"}, nil},
		"a silent timeout is blocked":         {[]check.Result{result("a", check.Timeout), result("b", check.Pass)}, check.Blocked, nil, []string{"a"}},
		"a failure outweighs a silent one":    {[]check.Result{result("a", check.Timeout), result("b", check.Fail)}, check.Failed, []string{"b"}, []string{"a"}},
		"one cannot run":                      {[]check.Result{result("a", check.Error), result("b", check.Pass)}, check.Blocked, nil, []string{"a"}},
		"a failure outweighs one that cannot": {[]check.Result{result("a", check.Error), result("b", check.Fail)}, check.Failed, []string{"b"}, []string{"a"}},
		"no check at all":                     {nil, check.Blocked, nil, nil},
		"a status that is none":               {[]check.Result{result("a", "")}, check.Blocked, nil, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := check.Report{Checks: test.checks}.Verdict()
			if got.Outcome != test.want || !slices.Equal(got.Failing, test.failing) || !slices.Equal(got.CannotRun, test.cannotRun) {
				t.Errorf("got %+v; want %s, %q, %q", got, test.want, test.failing, test.cannotRun)
			}
		})
	}
}

func TestReportAsJSON(t *testing.T) {
	report := check.Report{Checks: []check.Result{{Command: "go test", Status: check.Fail, ExitCode: 1, DurationMs: 5, Head: "h", Tail: "t", Bytes: 9}}}
	got, err := json.Marshal(report)
	want := `{"checks":[{"command":"go test","status":"fail","exitCode":1,"durationMs":5,"head":"h","tail":"t","bytes":9}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	var back check.Report
	if err := json.Unmarshal(got, &back); err != nil || back.Checks[0] != report.Checks[0] {
		t.Errorf("came back as %+v, %v", back, err)
	}
}

func TestUnknownStatusIsRefused(t *testing.T) {
	for _, word := range []string{"", "PASS", "not_run", "passed"} {
		var r check.Result
		if err := json.Unmarshal([]byte(`{"status":"`+word+`"}`), &r); err == nil {
			t.Errorf("%q was taken as %q", word, r.Status)
		}
	}
}

func TestDigest(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for name, test := range map[string]struct {
		result check.Result
		want   string
	}{
		"a check that passed":                {check.Result{Status: check.Pass, Head: "FAIL"}, ""},
		"no output":                          {check.Result{Status: check.Fail}, ""},
		"from the failure on":                {check.Result{Status: check.Fail, Head: "=== RUN\nok\n--- FAIL: TestAdd\n  got 3\n"}, "--- FAIL: TestAdd\n  got 3"},
		"the tail when it is there":          {check.Result{Status: check.Fail, Head: "start\n", Tail: "error: x"}, "error: x"},
		"a count of zero is no failure":      {check.Result{Status: check.Fail, Head: "3 passed; 0 failed\n1 passed; 1 failed"}, "1 passed; 1 failed"},
		"the end when nothing speaks of one": {check.Result{Status: check.Fail, Head: "x" + long}, long[:320*2]},
		"at most 320 characters":             {check.Result{Status: check.Fail, Head: "Error " + long}, "Error " + long[:314*2]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.result.Digest(); got != test.want {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}
