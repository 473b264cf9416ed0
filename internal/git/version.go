package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Minimum is the oldest usable git: 2.32 reads GIT_CONFIG_GLOBAL. GIT_CONFIG_COUNT and rev-parse
// --path-format came shortly before.
const Minimum = "2.32"

// Version returns the version of the installed git. The error matches ErrMissing when git is not
// installed, and ErrTooOld when it is older than Minimum.
func Version(ctx context.Context) (string, error) {
	out, err := Repo{}.Run(ctx, "version")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out)) // git version 2.39.5 (Apple Git-154)
	if len(fields) < 3 {
		return "", fmt.Errorf("git version: unexpected answer %q", out)
	}
	if olderVersion(fields[2], Minimum) {
		return fields[2], fmt.Errorf("git %s: %w", fields[2], ErrTooOld)
	}
	return fields[2], nil
}

// olderVersion reports whether v is older than another version, by their leading two numbers.
func olderVersion(v, than string) bool {
	a, b := versionNumbers(v), versionNumbers(than)
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

func versionNumbers(v string) (n [2]int) {
	for i, part := range strings.SplitN(v, ".", 3)[:min(2, strings.Count(v, ".")+1)] {
		n[i], _ = strconv.Atoi(part) // a word that is no number counts as 0: too old
	}
	return n
}
