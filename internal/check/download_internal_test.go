package check

import (
	"strings"
	"testing"
)

// TestWantsDownload has lines as the managers write them without a network and with an empty cache.
func TestWantsDownload(t *testing.T) {
	for name, tc := range map[string]struct{ output, remedy string }{
		"go":             {"go: github.com/google/uuid@v1.6.0: Get \"https://proxy.golang.org/github.com/google/uuid/@v/v1.6.0.mod\": dial tcp: lookup proxy.golang.org on [::1]:53: read udp [::1]:34567->[::1]:53: read: connection refused\n", "go mod download"},
		"go, an import":  {"sum.go:3:8: github.com/google/uuid@v1.6.0: Get \"https://proxy.golang.org/github.com/google/uuid/@v/v1.6.0.zip\": dial tcp: lookup proxy.golang.org: Temporary failure in name resolution\n", "registry:go"},
		"go, no proxy":   {"x.go:3:8: example.com/x@v1.0.0: module lookup disabled by GOPROXY=off\n", "go mod download"},
		"npm":            {"npm ERR! code EAI_AGAIN\nnpm ERR! syscall getaddrinfo\n", "npm ci"},
		"npm 10":         {"npm error code ENOTCACHED\nnpm error request to https://registry.npmjs.org/left-pad failed: cache mode is 'only-if-cached'\n", "registry:npm"},
		"pnpm":           {" ERR_PNPM_NO_OFFLINE_TARBALL  A package is missing from the store but cannot download it in offline mode.\n", "pnpm fetch"},
		"pnpm, online":   {" WARN  GET https://registry.npmjs.org/left-pad error (EAI_AGAIN). Will retry in 10 seconds.\n", "pnpm fetch"},
		"yarn 1":         {"info There appears to be trouble with your network connection. Retrying...\n", "yarn install"},
		"yarn 2 on":      {"\u27a4 YN0001: \u2502 RequestError: getaddrinfo EAI_AGAIN registry.yarnpkg.com\n", "yarn install"},
		"pip":            {"WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError'\n", "registry:pip"},
		"cargo":          {"warning: spurious network error (3 tries remaining): [6] Couldn't resolve host name (Could not resolve host: index.crates.io)\n", "cargo fetch"},
		"maven":          {"[ERROR] Could not transfer artifact org.apache:apache:pom:33 from/to central (https://repo.maven.apache.org/maven2): repo.maven.apache.org\n", "mvn dependency:go-offline"},
		"a test of ours": {"--- FAIL: TestFetch (0.00s)\n    fetch_test.go:9: Get \"https://api.example\": dial tcp: lookup api.example: no such host\n", ""},
		"an assertion":   {"    sum_test.go:9: got 1, want 2\nFAIL\texample.com/sum\t0.01s\n", ""},
		"a node test":    {"Error: getaddrinfo ENOTFOUND db.example\n    at GetAddrInfoReqWrap\n", ""},
		"got in a test":  {"RequestError: getaddrinfo ENOTFOUND db.example\n    at ClientRequest.<anonymous> (node_modules/got/dist/source/core/index.js:970:111)\n", ""},
		"a client's log": {"2026/02/14 mongo: Get \"https://db.example\": dial tcp: lookup db.example: no such host\n", ""},
		"a python test":  {"E   urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>\n", ""},
	} {
		got := wantsDownload(tc.output)
		if (got == "") != (tc.remedy == "") || !strings.Contains(got, tc.remedy) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", name, got, tc.remedy)
		}
	}
}
