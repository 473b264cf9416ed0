package host

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/forge"
)

func TestServersOfAWorker(t *testing.T) {
	closed, loose := filepath.Join(t.TempDir(), "closed"), filepath.Join(t.TempDir(), "loose")
	for path, mode := range map[string]os.FileMode{closed: 0o600, loose: 0o644} {
		if err := os.WriteFile(path, []byte("token-of-a-file\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pemFile, key := filepath.Join(t.TempDir(), "app.pem"), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	if err := os.WriteFile(pemFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := forge.OpenApp("Iv23x", key)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		flags   []string
		environ []string
		want    []forge.Server
		err     string
	}{
		"none":                      {nil, nil, nil, ""},
		"GitHub by its variable":    {nil, []string{"GITHUB_TOKEN=0123456789"}, []forge.Server{{Kind: forge.GitHub, URL: "https://github.com", Token: "0123456789"}}, ""},
		"the other variable":        {nil, []string{"GITHUB_TOKEN=two words", "GH_TOKEN=0123456789"}, []forge.Server{{Kind: forge.GitHub, URL: "https://github.com", Token: "0123456789"}}, ""},
		"no token in the variables": {nil, []string{"GITHUB_TOKEN=two words"}, nil, ""},
		"a file":                    {[]string{"gitea:https://git.example=" + closed}, nil, []forge.Server{{Kind: forge.Gitea, URL: "https://git.example", Token: "token-of-a-file"}}, ""},
		"a file for all":            {[]string{"gitea:https://git.example=" + loose}, nil, nil, "chmod 600"},
		"a variable that is unset":  {[]string{"gitea:https://git.example=NONE"}, nil, nil, "NONE is not set"},
		"no kind":                   {[]string{"https://git.example=X"}, nil, nil, "unknown kind"},
		"no token":                  {[]string{"gitea:https://git.example"}, nil, nil, "want KIND:URL=TOKEN"},
		"not encrypted":             {[]string{"gitea:http://git.example=X"}, nil, nil, "not encrypted"},
		"an app":                    {[]string{"github:https://github.com=Iv23x@" + pemFile}, []string{"GITHUB_TOKEN=0123456789"}, []forge.Server{{Kind: forge.GitHub, URL: "https://github.com", App: app}}, ""},
		"an app without a key":      {[]string{"github:https://github.com=12345@" + closed}, nil, nil, "is not a PEM file"},
		"an app of Gitea":           {[]string{"gitea:https://git.example=12345@" + pemFile}, nil, nil, "only GitHub has apps"},
		"a flag for GitHub":         {[]string{"github:https://github.com=OWN"}, []string{"GITHUB_TOKEN=0123456789", "OWN=abcdefghij"}, []forge.Server{{Kind: forge.GitHub, URL: "https://github.com", Token: "abcdefghij"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Environ: tc.environ}
			flags := flag.NewFlagSet("worker", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			c.AddFlags(flags)
			var args []string
			for _, f := range tc.flags {
				args = append(args, "-forge", f)
			}
			err := flags.Parse(args)
			var got []forge.Server
			if err == nil {
				got, err = c.openForges()
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("got error %v, want %q", err, tc.err)
			}
			if len(got) != len(tc.want) || len(got) == 1 && !reflect.DeepEqual(got[0], tc.want[0]) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			c.servers = got
			for _, s := range got {
				if text := c.redactor().String("x " + s.Token + " y"); s.Token != "" && strings.Contains(text, s.Token) {
					t.Errorf("the token is not redacted: %q", text)
				}
			}
		})
	}
}
