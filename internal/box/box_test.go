package box_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
)

func TestLimitsSayWhenThereAreNone(t *testing.T) {
	if got := (&box.Box{}).Limits(); !strings.Contains(got, "no limits on memory") {
		t.Error(got)
	}
}

func TestEveryCauseHasItsSentenceAndRemedy(t *testing.T) {
	seen := map[string]box.Cause{}
	for _, c := range []box.Cause{
		box.NoSystem, box.NoProgram, box.OldProgram, box.AppArmor, box.Sysctl, box.Seccomp, box.MaskedProc, box.Nested, box.Leaks, box.NotStarting,
	} {
		u := &box.Unavailable{Cause: c}
		text := u.Error() + u.Remedy()
		if u.Remedy() == "" || strings.HasSuffix(u.Error(), ": ") || strings.Contains(text, "\n") || seen[text] != "" {
			t.Errorf("%s: %q, %q", c, u.Error(), u.Remedy())
		}
		seen[text] = c
	}
}

func TestInSystem(t *testing.T) {
	for path, want := range map[string]bool{
		"/usr/bin/git": true, "/bin/sh": true, "/lib64/ld.so": true, "/opt/go/": true, "/usr": true, "/opt/": true,
		"/usrx/bin": false, "/usr/../home/kim": false, "/home/kim/usr/bin": false, "usr/bin": false, "/": false, "": false,
	} {
		if got := box.InSystem(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}
