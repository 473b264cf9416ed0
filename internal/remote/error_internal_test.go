package remote

import (
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
)

func TestWhatGitSaysIsExplained(t *testing.T) {
	for _, tc := range []struct {
		stderr, want string
		final        bool
	}{
		{"ssh: Could not resolve hostname nowhere: Name or service not known\nfatal: Could not read from remote repository.\n", "unknown host", false},
		{"git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n", "no permission", true},
		{"No ED25519 host key is known for host and you have requested strict checking.\nHost key verification failed.\n", "host's key", true},
		{"remote: Permission to acme/shop.git denied to kim.\nfatal: unable to access 'https://x/': The requested URL returned error: 403\n", "no permission", true},
		{"ERROR: Repository not found.\nfatal: Could not read from remote repository.\n", "no such repository", true},
		{"ssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote repository.\n", "cannot be reached", false},
		{"fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output\n", "not enough disk space", true},
		{"remote: error: GH013: Repository rule violations found\n ! [remote rejected] x -> ratchet/1 (push declined)\nerror: failed to push some refs\nhint: see the docs\n", "refuses the branch", true},
		{"error: Server does not allow request for unadvertised object 0123\n", "by its id alone", true},
		{"error: RPC failed; HTTP 502 curl 22\n", "HTTP 502", false},
	} {
		err := Remote{URL: "https://x/shop"}.explain(&git.Error{Command: "fetch", Exit: 128, Stderr: tc.stderr, Err: errors.New("exit 128")})
		failed, ok := errors.AsType[*Error](err)
		if !ok || failed.Final != tc.final || !strings.Contains(err.Error(), tc.want) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "hint") {
			t.Errorf("%q: got %v (%+v), want one line with %q, final %v", tc.stderr, err, failed, tc.want, tc.final)
		}
	}
}
