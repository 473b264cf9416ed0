package host

import (
	"errors"
	"testing"
)

func TestInstallRemedyFitsTheSystem(t *testing.T) {
	for text, want := range map[string]string{
		"ID=debian\n": "apt install bubblewrap",
		"NAME=Mint\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n": "apt install bubblewrap",
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n":       "dnf install bubblewrap",
		"ID=arch":            "pacman -S bubblewrap",
		"ID=alpine\n":        "apk add bubblewrap",
		"ID=plan9\n":         "install bubblewrap",
		"PRETTY_NAME=debian": "install bubblewrap",
	} {
		if got := installRemedy([]byte(text), nil); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := installRemedy(nil, errors.New("none")); got != "install bubblewrap" {
		t.Errorf("without os-release: %q", got)
	}
}
