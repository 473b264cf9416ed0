package allow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/allow"
)

func lookupIn(environ []string) allow.Lookup {
	return func(name string) (string, bool) {
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

func TestVariables(t *testing.T) {
	environ := lookupIn([]string{
		"GOPROXY=http://127.0.0.1:3000", "GOSUMDB=off", "GOFLAGS=-mod=mod", "npm_config_registry=http://u:p@npm.example/",
		"CARGO_REGISTRY_DEFAULT=corp", "CARGO_REGISTRIES_CORP_INDEX=sparse+https://c.example/",
	})
	for entry, want := range map[string]string{
		"registry:go": "[GOPROXY GOSUMDB]", "registry:npm": "[]", "a.example:443": "[]",
		"registry": "[GOPROXY GOSUMDB CARGO_REGISTRY_DEFAULT CARGO_REGISTRIES_CORP_INDEX]",
	} {
		if got := fmt.Sprint(allow.Variables([]string{entry}, environ)); got != want {
			t.Errorf("%s: got %s, want %s", entry, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	for name, tt := range map[string]struct {
		entries, environ []string
		want, fails      string
	}{
		"nothing":         {want: "[]"},
		"a target, twice": {entries: []string{"a.example:443", "A.example:443"}, want: "[a.example:443]"},
		"sorted":          {entries: []string{"b.example:1", "a.example:2"}, want: "[a.example:2 b.example:1]"},
		"go":              {entries: []string{"registry:go"}, want: "[proxy.golang.org:443 sum.golang.org:443]"},
		"all": {
			entries: []string{"registry"},
			want: "[files.pythonhosted.org:443 index.crates.io:443 proxy.golang.org:443 pypi.org:443" +
				" registry.npmjs.org:443 static.crates.io:443 sum.golang.org:443]",
		},
		"a Go proxy of the operator": {
			entries: []string{"registry:go"}, environ: []string{"GOPROXY=https://user:secret@go.corp.example/x,direct"},
			want: "[go.corp.example:443 sum.golang.org:443]",
		},
		"Go proxies, and no checksums": {
			entries: []string{"registry:go"}, environ: []string{"GOPROXY=http://127.0.0.1:3000|https://b.example:8443,off", "GOSUMDB=off"},
			want: "[127.0.0.1:3000 b.example:8443]",
		},
		"a checksum database of the operator": {
			entries: []string{"registry:go"},
			environ: []string{"GOPROXY=https://a.example", "GOSUMDB=sum.corp.example+1234+key https://sums.corp.example/db"},
			want:    "[a.example:443 sums.corp.example:443]",
		},
		"its name alone": {
			entries: []string{"registry:go"}, environ: []string{"GOPROXY=https://a.example", "GOSUMDB=sum.corp.example+1234+key"},
			want: "[a.example:443 sum.corp.example:443]",
		},
		"a Go proxy that is a directory": {
			entries: []string{"registry:go"}, environ: []string{"GOPROXY=file:///srv/go"},
			want: "[proxy.golang.org:443 sum.golang.org:443]",
		},
		"npm": {entries: []string{"registry:npm"}, environ: []string{"npm_config_registry=http://npm.corp.example/"}, want: "[npm.corp.example:80]"},
		"pip": {
			entries: []string{"registry:pip"}, environ: []string{"PIP_INDEX_URL=https://py.corp.example/simple", "PIP_EXTRA_INDEX_URL=https://x.example:8443/a https://y.example/b"},
			want: "[py.corp.example:443 x.example:8443 y.example:443]",
		},
		"pip with one more index": {
			entries: []string{"registry:pip"}, environ: []string{"PIP_EXTRA_INDEX_URL=https://x.example/a"},
			want: "[files.pythonhosted.org:443 pypi.org:443 x.example:443]",
		},
		"cargo": {
			entries: []string{"registry:cargo"}, environ: []string{"CARGO_REGISTRY_DEFAULT=my-corp", "CARGO_REGISTRIES_MY_CORP_INDEX=sparse+https://cargo.corp.example/index/"},
			want: "[cargo.corp.example:443]",
		},
		"IPv6":                      {entries: []string{"registry:npm"}, environ: []string{"npm_config_registry=http://[::1]:4873"}, want: "[[::1]:4873]"},
		"localhost":                 {entries: []string{"registry:npm"}, environ: []string{"npm_config_registry=http://localhost:4873"}, want: "[127.0.0.1:4873]"},
		"an unknown preset":         {entries: []string{"registry:maven"}, fails: "the presets are registry and registry:go, registry:npm, registry:pip, registry:cargo"},
		"a registry with a port":    {entries: []string{"registry:443"}, fails: "the presets are"},
		"a target that is none":     {entries: []string{"a.example"}, fails: "port is missing"},
		"a registry that is no URL": {entries: []string{"registry:npm"}, environ: []string{"npm_config_registry=http://se cret@x/"}, fails: "not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := allow.Expand(tt.entries, lookupIn(tt.environ))
			if tt.fails == "" && (err != nil || fmt.Sprint(got) != tt.want) {
				t.Errorf("got %v, %v, want %s", got, err, tt.want)
			}
			if tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("got %v, %v, want %q", got, err, tt.fails)
			}
			if err != nil && strings.Contains(err.Error(), "cret") {
				t.Errorf("a password in %q", err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for _, entry := range []string{"registry", "registry:cargo", "a.example:443"} {
		if err := allow.Check(entry); err != nil {
			t.Errorf("%s: %v", entry, err)
		}
	}
	for _, entry := range []string{"", "registry:", "registry:x", "a.example"} {
		if err := allow.Check(entry); err == nil {
			t.Errorf("%q is taken", entry)
		}
	}
}
