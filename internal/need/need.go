// Package need states the requirements of a test on its machine. A missing requirement skips the
// test with a reason. In CI, which installs all of them, it fails the test, and no test is skipped
// unseen.
package need

import (
	"os"
	"os/exec"
	"testing"
)

// StrictVariable is the environment variable that turns skips into failures when its value is 1.
const StrictVariable = "RATCHET_TEST_STRICT"

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
	if os.Getenv(StrictVariable) == "1" {
		t.Fatalf("%s, and %s is set", reason, StrictVariable)
	}
	t.Skip(reason)
}

// LongVariable is the environment variable that asks for the long forms of the suites when it is not empty.
const LongVariable = "RATCHET_TEST_LONG"

// LongForm reports whether the long forms of the suites are asked for.
func LongForm() bool { return os.Getenv(LongVariable) != "" }
