package check_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
)

func TestCases(t *testing.T) {
	for _, test := range []struct {
		name, output string
		want         check.Cases
		told         bool
	}{
		{"go test tells the failed case of a table", "--- FAIL: TestMake (0.00s)\n    --- FAIL: TestMake/double_blanks (0.00s)\n        slug_test.go:12: got a--b\nFAIL\nFAIL\texample.org/slug\t0.003s\n", check.Cases{Failed: 1}, true},
		{"go test -v tells all cases", "=== RUN   TestMake\n--- FAIL: TestMake (0.00s)\n    --- PASS: TestMake/a (0.00s)\n    --- PASS: TestMake/b (0.00s)\n    --- FAIL: TestMake/c (0.00s)\n--- PASS: TestOther (0.00s)\nFAIL\n", check.Cases{Failed: 1, Total: 4}, true},
		{"go test that does not compile tells none", "# example.org/slug\n./slug.go:3:1: syntax error\nFAIL\texample.org/slug [build failed]\n", check.Cases{}, false},
		{"pytest", "..F\n=== short test summary info ===\nFAILED test_a.py::test_c\n========= 1 failed, 2 passed in 0.12s =========\n", check.Cases{Failed: 1, Total: 3}, true},
		{"pytest with skips and errors", "======= 1 failed, 2 passed, 1 skipped, 3 warnings, 1 error in 10.12s (0:00:10) =======\n", check.Cases{Failed: 2, Total: 4}, true},
		{"pytest -q", "1 failed in 0.02s\n", check.Cases{Failed: 1, Total: 1}, true},
		{"unittest", "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", check.Cases{Failed: 2, Total: 3}, true},
		{"unittest with errors alone", "Ran 3 tests in 0.001s\n\nFAILED (errors=1)\n", check.Cases{Failed: 1, Total: 3}, true},
		{"jest", "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 skipped, 2 passed, 4 total\n", check.Cases{Failed: 1, Total: 3}, true},
		{"vitest", " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n", check.Cases{Failed: 1, Total: 3}, true},
		{"node --test", "ℹ tests 3\nℹ suites 0\nℹ pass 2\nℹ fail 1\nℹ cancelled 0\n", check.Cases{Failed: 1, Total: 3}, true},
		{"node --test in TAP", "# tests 3\n# pass 2\n# fail 1\n", check.Cases{Failed: 1, Total: 3}, true},
		{"mocha", "  2 passing (5ms)\n  1 failing\n\n  1) adds\n", check.Cases{Failed: 1, Total: 3}, true},
		{"cargo test of two crates", "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured\n", check.Cases{Failed: 1, Total: 7}, true},
		{"maven", "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 1 s\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 0\n", check.Cases{Failed: 2, Total: 5}, true},
		{"gradle", "3 tests completed, 1 failed\n", check.Cases{Failed: 1, Total: 3}, true},
		{"rspec", "3 examples, 1 failure\n", check.Cases{Failed: 1, Total: 3}, true},
		{"any other text", "error: 3 failed, says the weather\n", check.Cases{}, false},
		{"a number that no tool counts to", "99999999999999999999 examples, 1 failure\n", check.Cases{Failed: 1, Total: 1 << 24}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := check.Result{Status: check.Fail, ExitCode: 1, Head: test.output, Bytes: int64(len(test.output))}
			if got, told := r.Cases(); got != test.want || told != test.told {
				t.Errorf("%+v, %v; want %+v, %v", got, told, test.want, test.told)
			}
			r.Status = check.Pass
			if got, told := r.Cases(); told {
				t.Errorf("of a check that passed: %+v", got)
			}
		})
	}
}

// What is left of a long output does not tell all packages.
func TestCasesOfACutOutput(t *testing.T) {
	const cargo = "test result: FAILED. 2 passed; 1 failed; 0 ignored\n"
	for name, output := range map[string]string{"cargo": cargo, "go": "--- FAIL: TestA (0.00s)\n"} {
		r := check.Result{Status: check.Fail, Head: strings.Repeat(".", 90), Tail: output, Bytes: 1 << 20}
		if got, told := r.Cases(); told {
			t.Errorf("%s: %+v", name, got)
		}
	}
	r := check.Result{Status: check.Fail, Tail: "1 failed, 2 passed in 9.1s\n", Bytes: 1 << 20}
	if got, _ := r.Cases(); got != (check.Cases{Failed: 1, Total: 3}) {
		t.Errorf("one summary at the end: %+v", got)
	}
}

func TestAFailureOfBefore(t *testing.T) {
	one := check.Result{Command: "go test", Status: check.Fail, ExitCode: 1, Head: "3 examples, 1 failure\n", Bytes: 22}
	for name, test := range map[string]struct {
		change func(*check.Result)
		same   bool
	}{
		"the same":          {func(*check.Result) {}, true},
		"it took longer":    {func(r *check.Result) { r.DurationMs = 9000 }, true},
		"other cases":       {func(r *check.Result) { r.Head = "3 examples, 2 failures\n" }, false},
		"another exit code": {func(r *check.Result) { r.ExitCode = 2 }, false},
		"another end":       {func(r *check.Result) { r.Status = check.Timeout }, false},
		"another command":   {func(r *check.Result) { r.Command = "go vet" }, false},
		"it passes":         {func(r *check.Result) { r.Status, r.ExitCode = check.Pass, 0 }, false},
		"no cases are told": {func(r *check.Result) { r.Head = "boom\n" }, false},
	} {
		now := one
		test.change(&now)
		if got := now.FailedAs(one); got != test.same {
			t.Errorf("%s: %v", name, got)
		}
	}
	if passed := (check.Result{Command: "true", Status: check.Pass}); passed.FailedAs(passed) {
		t.Error("two passes are a failure")
	}
}
