package check

import (
	"regexp"
	"strconv"
)

// Cases counts the test cases that a command's own output reports. Total is zero if
// the output reports the failed ones alone.
type Cases struct{ Failed, Total int }

// summary is the form in which a test tool sums up its cases. Its named groups hold
// numbers: failed and errors are cases that failed, passed cases that did not, total
// both together. A form with each is counted again in every match, as by a tool that
// sums up each package for itself.
type summary struct {
	form *regexp.Regexp
	each bool
}

// summaries are the forms of the tools that check.Detect chooses, and of other
// common ones. The first that fits counts.
var summaries = []summary{
	{regexp.MustCompile(`(?m)^=* ?(?:(?P<failed>\d+) failed)?(?:, )?(?:(?P<passed>\d+) passed)?(?:, \d+ (?:skipped|deselected|xfailed|xpassed|warnings?))*(?:, (?P<errors>\d+) errors?)? in [\d.]+s`), false}, // pytest
	{regexp.MustCompile(`(?m)^Tests: +(?:(?P<failed>\d+) failed, )?(?:\d+ (?:skipped|todo), )*(?:(?P<passed>\d+) passed, )?\d+ total`), false},                                                                // jest
	{regexp.MustCompile(`(?m)^ *Tests +(?:(?P<failed>\d+) failed)?(?: \| )?(?:(?P<passed>\d+) passed)?.*\(\d+\)`), false},                                                                                     // vitest
	{regexp.MustCompile(`(?m)^(?:#|ℹ) tests (?P<total>\d+)$(?:\n.*)*?\n(?:#|ℹ) fail (?P<failed>\d+)$`), false},                                                                                                // node --test
	{regexp.MustCompile(`(?m)^ +(?P<passed>\d+) passing .*(?:\n.*)*?\n +(?P<failed>\d+) failing$`), false},                                                                                                    // mocha
	{regexp.MustCompile(`(?m)^Ran (?P<total>\d+) tests? in .*\n+FAILED \((?:failures=(?P<failed>\d+))?(?:, )?(?:errors=(?P<errors>\d+))?`), false},                                                            // unittest
	{regexp.MustCompile(`(?m)^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed;`), true},                                                                                                     // cargo
	{regexp.MustCompile(`(?m)^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: \d+$`), false},                                                             // maven
	{regexp.MustCompile(`(?m)^(?P<total>\d+) tests completed, (?P<failed>\d+) failed`), false},                                                                                                                // gradle
	{regexp.MustCompile(`(?m)^(?P<total>\d+) examples?, (?P<failed>\d+) failures?`), false},                                                                                                                   // rspec
}

// goCase is a line of go test about one case. The passed ones are in the output of go test -v.
var goCase = regexp.MustCompile(`(?m)^( *)--- (FAIL|PASS): `)

// Cases returns the cases of a command that failed. ok is false if its output does
// not report them. The output belongs to the command: the numbers prove nothing.
func (r Result) Cases() (c Cases, ok bool) {
	if r.Status != Fail {
		return Cases{}, false
	}
	text := r.Head + r.Tail
	whole := r.Bytes <= int64(len(text))
	for _, s := range summaries {
		if !s.each || whole {
			if c := s.count(text); c.Failed > 0 {
				return c, true
			}
		}
	}
	if c := goCases(text); whole && c.Failed > 0 {
		return c, true
	}
	return Cases{}, false
}

// count returns the cases of the last summary in the text, or of all together.
func (s summary) count(text string) (sum Cases) {
	matches := s.form.FindAllStringSubmatch(text, -1)
	if !s.each && len(matches) > 1 {
		matches = matches[len(matches)-1:]
	}
	for _, m := range matches {
		group := func(name string) int {
			i := s.form.SubexpIndex(name)
			if i < 0 {
				return 0
			}
			n, _ := strconv.Atoi(m[i]) // an absent group, or a number that no tool counts to
			return min(n, maxCases)
		}
		failed := group("failed") + group("errors")
		sum.Failed += failed
		sum.Total += max(group("total"), failed+group("passed"))
	}
	return sum
}

// maxCases bounds a number in an output.
const maxCases = 1 << 24

// goCases counts the cases of go test: the tests without cases of their own, and the
// cases of the others. Their lines follow the line of the test, further to the right.
func goCases(text string) (c Cases) {
	lines := goCase.FindAllStringSubmatch(text, -1)
	told := false // of the passed ones too
	for i, m := range lines {
		if i+1 < len(lines) && len(lines[i+1][1]) > len(m[1]) {
			continue
		}
		told = told || m[2] == "PASS"
		c.Total++
		if m[2] == "FAIL" {
			c.Failed++
		}
	}
	if !told {
		c.Total = 0
	}
	return c
}
