// Package need states what a test needs: of its machine, and of the part of the suite that was asked for.
//
// The suite has three tiers (docs/testing.md). `go test ./...` proves decisions and wiring with Go and git
// alone; what its machine lacks skips a test with a reason. `.ci/run` sets RATCHET_TEST=ci and proves the machine;
// `.ci/nightly` sets RATCHET_TEST=nightly and runs everything in its long form. Both install what their tests
// need, so there a missing requirement fails the test.
package need

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// Variable is the environment variable that names the tier: empty, ci or nightly.
const Variable = "RATCHET_TEST"

// leftVariable is the environment variable that names a file. The quick tier adds a line to it for each test that it
// leaves to CI, in whole or in part: the package and the name. CI then runs these alone (.ci/run).
const leftVariable = "RATCHET_TEST_LEFT"

// Tier is a part of the suite. A tier includes the ones before it.
type Tier string

// The tiers, the smallest first. The zero value is the tier of a plain `go test ./...`.
const (
	Quick   Tier = ""
	CI      Tier = "ci"
	Nightly Tier = "nightly"
)

// Has reports whether the suite that was asked for includes the tier. Any other word in [Variable] panics: a misspelt
// tier would skip tests unseen.
func Has(tier Tier) bool { return rank(Tier(os.Getenv(Variable))) >= rank(tier) }

func rank(tier Tier) int {
	switch tier {
	case Quick:
		return 0
	case CI:
		return 1
	case Nightly:
		return 2
	}
	panic(Variable + "=" + string(tier) + ": want ci, nightly or nothing")
}

// Suite skips a test of a tier that was not asked for.
func Suite(t testing.TB, tier Tier) {
	t.Helper()
	if !Has(tier) {
		if tier == CI {
			left(t)
		}
		t.Skipf("runs with %s=%s", Variable, tier)
	}
}

// Checks sets how many random cases the properties of the test (package rapid) try: quick in `go test ./...`, ci in CI,
// and five times ci at night.
func Checks(t testing.TB, quick, ci int) {
	t.Helper()
	n := quick
	switch {
	case Has(Nightly):
		n = 5 * ci
	case Has(CI):
		n = ci
	case quick < ci:
		left(t)
	}
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(before) })
}

// Sandbox skips a test that starts bubblewrap. Those belong to the tier of CI.
func Sandbox(t testing.TB) {
	t.Helper()
	Suite(t, CI)
	Program(t, "bwrap")
}

// Root skips a test that acts as another user, or looks into a process that is closed to its own.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "needs the superuser")
	}
}

// Program returns the path of a program on PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "needs the program "+name+", which is not on PATH")
	}
	return path
}

// Env returns the value of a variable that is set and not empty.
func Env(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		missing(t, "needs the environment variable "+name+", which is not set")
	}
	return value
}

func missing(t testing.TB, reason string) {
	t.Helper()
	if Has(CI) {
		t.Fatalf("%s, and %s is %s", reason, Variable, os.Getenv(Variable))
	}
	left(t)
	t.Skip(reason)
}

func left(t testing.TB) {
	t.Helper()
	file := os.Getenv(leftVariable)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	build, _ := debug.ReadBuildInfo()
	test, _, _ := strings.Cut(t.Name(), "/")
	if _, err := fmt.Fprintln(f, strings.TrimSuffix(build.Path, ".test"), test); err != nil {
		t.Fatal(err)
	}
}
