package redact

import (
	"net/url"
	"slices"
	"strings"
)

// words mark a variable as a secret when its name holds one of them, taken
// apart at everything that is not a letter or a digit.
var words = []string{
	"KEY", "KEYS", "APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE",
	"PASS", "PWD", "PW", "CREDENTIAL", "CREDENTIALS", "CREDS", "AUTH", "AUTHORIZATION", "BEARER", "JWT", "PAT", "COOKIE", "COOKIES",
	"DSN", "PRIVATE",
}

// endings mark a word that is written together, such as PGPASSWORD.
var endings = []string{"PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY"}

// places end names of variables that say where a secret is, not what it is.
var places = []string{"PATH", "FILE", "DIR", "SOCK", "SOCKET", "PID"}

// exempt are the names that hold a word and no secret.
var exempt = []string{"PWD"}

// Looks says whether a variable of that name holds a secret.
func Looks(name string) bool {
	name = strings.ToUpper(name)
	parts := strings.FieldsFunc(name, func(r rune) bool { return !(r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') })
	if len(parts) == 0 || slices.Contains(exempt, name) || slices.Contains(places, parts[len(parts)-1]) {
		return false
	}
	return slices.ContainsFunc(parts, func(part string) bool {
		return slices.Contains(words, part) ||
			slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(part, end) })
	})
}

// Secrets returns the secrets of an environment, sorted by name: the values of
// the variables that look like one, and the passwords and tokens in all that
// are URLs.
func Secrets(environ []string) []Secret {
	var found []Secret
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if Looks(name) {
			found = append(found, Secret{name, value})
		}
		if password, ok := passwordIn(value); ok {
			found = append(found, Secret{name, password})
		}
	}
	slices.SortStableFunc(found, func(a, b Secret) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// tokenLength is from where on the lone user of a URL is taken for a token.
const tokenLength = 20

func passwordIn(value string) (string, bool) {
	if !strings.Contains(value, "://") {
		return "", false
	}
	u, err := url.Parse(strings.TrimSpace(value))
	if err != nil || u.User == nil {
		return "", false
	}
	if password, ok := u.User.Password(); ok {
		return password, true
	}
	user := u.User.Username()
	return user, len(user) >= tokenLength
}

// label is what stands for a secret. It is safe within JSON, a URL and a shell
// word, whatever the name.
func label(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, name)
	return "[redacted:" + safe + "]"
}
