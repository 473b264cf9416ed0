package redact_test

import (
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/redact"
)

func TestLooks(t *testing.T) {
	tests := map[string][]string{
		"secret": {
			"KEY", "OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GITHUB_TOKEN", "GH_PAT", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID",
			"TEMPORAL_API_KEY", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "SMTP_PASS", "NPM_CONFIG__AUTH", "npm_config_//registry/:_authToken",
			"SESSION_COOKIE", "SENTRY_DSN", "PRIVATE_DATA", "GOOGLE_CREDENTIALS", "CLIENT_SECRET_2", "api-key", "GITHUBTOKEN", "SIGNING_PASSPHRASE",
			"VAULT_SECRETS", "SSL_KEY",
		},
		"no secret": {
			"PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_KEY_FILE", "SSL_KEY_PATH", "TOKEN_DIR", "KEYBOARD", "XAUTHORITY",
			"AUTHOR", "TOKENIZERS_PARALLELISM", "MONKEY", "PATTERN", "GOPRIVATE", "PASSAGE", "LANG", "SECRETARY", "COMPAT", "",
		},
	}
	for kind, names := range tests {
		for _, name := range names {
			if got := redact.LooksSecret(name); got != (kind == "secret") {
				t.Errorf("%q: want %s", name, kind)
			}
		}
	}
}

func TestSecrets(t *testing.T) {
	got := redact.FindSecrets([]string{
		"PATH=/usr/bin", "Z_TOKEN=t=1", "A_KEY=", "nothing", "EMPTY_KEY",
		"DATABASE_URL=postgres://app:s3cret%2Fpass@db:5432/x", "HTTPS_PROXY=http://proxy:3128", "LINK=https://user@host/",
		"REMOTE=https://github_pat_0123456789@host/x.git", "BROKEN=://%zz",
	})
	want := []redact.Secret{
		{Name: "A_KEY", Value: ""}, {Name: "DATABASE_URL", Value: "s3cret/pass"}, {Name: "EMPTY_KEY", Value: ""},
		{Name: "REMOTE", Value: "github_pat_0123456789"}, {Name: "Z_TOKEN", Value: "t=1"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Drivers take URLs that net/url refuses, or reads otherwise.
func TestSecretsOfLooseURLs(t *testing.T) {
	for value, want := range map[string][]string{
		"postgres://user:S3cret#Passw0rd@h/db":               {"S3cret#Passw0rd"},
		"postgres://user:S3cret%Passw0rd@h/db":               {"S3cret%Passw0rd"},
		"postgres://user:S3cret/Pass?w0rd@h/db":              {"S3cret/Pass?w0rd"},
		"postgres://user:S3cret[Pass@w0rd@h/db":              {"S3cret[Pass@w0rd"},
		"postgres://user:31337#Passw0rd@h/db":                {"31337#Passw0rd"},
		"postgres://user:/S3cretPassw0rd@h/db":               {"/S3cretPassw0rd"},
		" postgres://user:S3cret#Passw0rd@h/db kim@work\n":   {"S3cret#Passw0rd"},
		"mongodb://user:S3cret%2FPa#ss@h1:27017,h2:27017/db": {"S3cret%2FPa#ss", "S3cret/Pa#ss"},
		"amqp://user:S3cretPassw0rd@h1:5672,h2:5672/":        {"S3cretPassw0rd"},
		"https://github_pat_0123456789%zz@host/x.git":        {"github_pat_0123456789%zz"},
		"https://user%zz@host/":                              nil,
		"https://host:8443/npm/@scope/pkg":                   nil,
		"https://host/a:b/@scope/pkg":                        nil,
		"https://host/?mail=a:b@c":                           nil,
		"http://[::1]:8080/npm/@scope/pkg":                   nil,
		"http://[::1]/npm/@scope/pkg":                        nil,
		"tcp://%zz":                                          nil,
		"postgres://user:S3cret@Pass#w0rd@h/db":              {"S3cret", "S3cret@Pass#w0rd"},
		"postgres://user:S3cret@Pass/w0rd@h/db":              {"S3cret", "S3cret@Pass/w0rd"},
		"https://github_pat_0123456789@host/npm/@scope/pkg":  {"github_pat_0123456789"},
		"jdbc:postgresql://user:S3cretPassw0rd@h/db":         {"S3cretPassw0rd"},
		"jdbc:postgresql://user:S3cret#Passw0rd@h/db":        {"S3cret#Passw0rd"},
		`{"at":"https://h","by":"kim.longname@work.com"}`:    nil,
		`{"a":"http://user:S3cret@h","mail":"kim@work.com"}`: nil,
		"postgres://user:S3cret@Passw0rd@h/db":               {"S3cret@Passw0rd"},
		"https://user@registry.example.com/npm/@scope/pkg":   nil,
		"see https://h/a%zz mail kim:long@work.com":          nil,
		"https://user:S3cretPassw0rd@host/npm/@scope/pkg":    {"S3cretPassw0rd", "S3cretPassw0rd@host/npm/"},
		"://": nil,
		"https://u:S3cretPassw0rd@a,https://v:0therPassw0rd@b|direct":              {"0therPassw0rd", "S3cretPassw0rd", "S3cretPassw0rd@a,https://v:0therPassw0rd"},
		"https://u:S3cretPassw0rd@a/simple\nhttps://v:0therPassw0rd@b/simple":      {"0therPassw0rd", "S3cretPassw0rd"},
		"https://a/simple https://github_pat_0123456789@b/simple mail kim@work":    {"github_pat_0123456789"},
		"-Xmx1g -Dregistry=https://u:S3cretPassw0rd@h:8443/ -Dmail=kim:l@work.com": {"S3cretPassw0rd"},
	} {
		var got []string
		for _, s := range redact.FindSecrets([]string{"URL=" + value}) {
			got = append(got, s.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func TestWhichValuesAreRedacted(t *testing.T) {
	tests := map[string]struct {
		environ    []string
		extra      []redact.Secret
		text, want string
		short      []string
	}{
		"a variable that looks like a secret": {environ: []string{"MY_TOKEN=12345678"}, text: "12345678", want: "[redacted:MY_TOKEN]"},
		"one that does not":                   {environ: []string{"EDITOR=12345678"}, text: "12345678", want: "12345678"},
		"a value of 7 bytes":                  {environ: []string{"MY_TOKEN=1234567"}, text: "1234567", want: "1234567", short: []string{"MY_TOKEN"}},
		"white space does not count":          {environ: []string{"MY_TOKEN= 12345678\n"}, text: "a12345678b", want: "a[redacted:MY_TOKEN]b"},
		"nor does it make a value long":       {environ: []string{"MY_TOKEN=  1234567  "}, text: "  1234567  ", want: "  1234567  ", short: []string{"MY_TOKEN"}},
		"an empty value":                      {environ: []string{"MY_TOKEN="}, text: "x", want: "x"},
		"a value handed in":                   {extra: []redact.Secret{{Name: "login", Value: "12345678"}}, text: "12345678", want: "[redacted:login]"},
		"a short value handed in":             {extra: []redact.Secret{{Name: "login", Value: "1234"}}, text: "1234", want: "1234", short: []string{"login"}},
		"two names of one value":              {environ: []string{"B_KEY=12345678", "A_KEY=12345678"}, text: "12345678", want: "[redacted:A_KEY]"},
		"a value handed in goes first":        {environ: []string{"A_KEY=12345678"}, extra: []redact.Secret{{Name: "login", Value: "12345678"}}, text: "12345678", want: "[redacted:login]"},
		"a name that would break JSON":        {extra: []redact.Secret{{Name: `a"b\c d`, Value: "12345678"}}, text: "12345678", want: "[redacted:a_b_c_d]"},
		"the password of a URL":               {environ: []string{"DATABASE_URL=postgres://app:s3cret%2Fpass@db/x"}, text: "login s3cret/pass, s3cret%2Fpass", want: "login [redacted:DATABASE_URL], [redacted:DATABASE_URL]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := redact.New(tt.environ, tt.extra...)
			if got := r.String(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if !slices.Equal(r.ShortNames(), tt.short) {
				t.Errorf("short: %q, want %q", r.ShortNames(), tt.short)
			}
		})
	}
}

func TestIsWord(t *testing.T) {
	for value, want := range map[string]bool{
		"password": true, "postgres": true, "disabled": true, "Password": true, "DISABLED": true, "localhost": true,
		"http://localhost:3000": true, "localhost:5432": true, "my-app": true, "my-app-dev": false, "sesame-open-up": false, "www.example.com": true,
		"password123": false, "canary-0123": false, "correct-horse-battery-staple": false, "abcdefghijklmnop": false,
		"hunter2hunter2": false, "sk-ant-0a1b2c3d": false, "12345678": false, "PassWord": false, "pässword": false,
		"http://user:s3cr3t@localhost": false, "127.0.0.1:8080": false, "--------": false, "": false,
	} {
		if got := redact.IsWord(value); got != want {
			t.Errorf("IsWord(%q) is %t, want %t", value, got, want)
		}
	}
}
