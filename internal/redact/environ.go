package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretWords mark a variable as a secret if its name holds one of them. The name is split
// at every character that is not a letter or a digit.
var secretWords = []string{
	"KEY", "KEYS", "APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE",
	"PASS", "PWD", "PW", "CREDENTIAL", "CREDENTIALS", "CREDS", "AUTH", "AUTHORIZATION", "BEARER", "JWT", "PAT", "COOKIE", "COOKIES",
	"DSN", "PRIVATE",
}

// secretEndings mark a word that is written together, such as PGPASSWORD.
var secretEndings = []string{"PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY"}

// placeWords end names of variables that hold the place of a secret, not its value.
var placeWords = []string{"PATH", "FILE", "DIR", "SOCK", "SOCKET", "PID"}

// exemptNames are the names that hold a secret word but name no secret.
var exemptNames = []string{"PWD"}

// LooksSecret reports whether a variable of that name holds a secret.
func LooksSecret(name string) bool {
	name = strings.ToUpper(name)
	parts := strings.FieldsFunc(name, func(r rune) bool { return !(r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') })
	if len(parts) == 0 || slices.Contains(exemptNames, name) || slices.Contains(placeWords, parts[len(parts)-1]) {
		return false
	}
	return slices.ContainsFunc(parts, func(part string) bool {
		return slices.Contains(secretWords, part) ||
			slices.ContainsFunc(secretEndings, func(end string) bool { return strings.HasSuffix(part, end) })
	})
}

// IsWord reports whether a value is made of a few ordinary words, as password, disabled and http://localhost:3000 are.
// Such a value is not redacted, whatever its variable's name says: it is no secret by itself, and it would be found in
// every text about other things.
func IsWord(value string) bool {
	parts := wordPart.FindAllStringIndex(value, -1)
	most, words := maxWords, 0
	if addressForm.MatchString(value) {
		most = maxLabels
	}
	for _, at := range parts {
		switch part := value[at[0]:at[1]]; {
		case wordForm.MatchString(part):
			words++
		case at[0] > 0 && strings.IndexByte(":.", value[at[0]-1]) >= 0 && numberForm.MatchString(part):
		default:
			return false
		}
	}
	return words > 0 && words <= most
}

// The most words of a value that counts as such, and of a host name or an address. A passphrase has more, and other
// separators than an address.
const (
	maxWords  = 2
	maxLabels = 3
)

var (
	wordPart    = regexp.MustCompile(`[^\x00-/:-@\[-\x60{-\x7f]+`) // letters, digits, and all that is not ASCII
	wordForm    = regexp.MustCompile(`^(?:[a-z]{1,12}|[A-Z][a-z]{0,11}|[A-Z]{1,12})$`)
	addressForm = regexp.MustCompile(`^[A-Za-z0-9.:/]+$`)
	numberForm  = regexp.MustCompile(`^[0-9]{1,5}$`) // of a port, or in an address
)

// FindSecrets returns the secrets of an environment, sorted by name: the values of the variables that look
// like a secret, and the passwords and tokens in all values that are URLs or hold some.
func FindSecrets(environ []string) []Secret {
	var found []Secret
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if LooksSecret(name) {
			found = append(found, Secret{name, value})
		}
		for _, password := range passwordsIn(value) {
			found = append(found, Secret{name, password})
		}
	}
	slices.SortStableFunc(found, func(a, b Secret) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// tokenLength is the length from which the lone user of a URL counts as a token.
const tokenLength = 20

// urlForm matches the beginning of a URL. A JSON text with a URL and an address in it has another.
var urlForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// nextURL matches the beginning of a URL that follows another, as in GOPROXY and PIP_EXTRA_INDEX_URL, or an option.
var nextURL = regexp.MustCompile(`[\s,;|=][A-Za-z][A-Za-z0-9+.-]*://`)

// passwordsIn returns the passwords and tokens of the URLs in a value.
func passwordsIn(value string) (found []string) {
	value = strings.TrimPrefix(strings.TrimSpace(value), "jdbc:")
	found = passwordsOf(value) // what separates URLs may be a part of a password
	end := len(value)
	for _, at := range slices.Backward(nextURL.FindAllStringIndex(value, -1)) {
		found, end = append(found, passwordsOf(value[at[0]+1:end])...), at[0]
	}
	if end < len(value) {
		found = append(found, passwordsOf(value[:end])...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// passwordsOf returns the password of a URL, or its lone user if that is long enough for a token, in each way in which
// programs may read it.
func passwordsOf(value string) []string {
	if !urlForm.MatchString(value) {
		return nil
	}
	u, err := url.Parse(value)
	switch {
	case err != nil: // perhaps a password that holds #, /, ? or % as they are
		return looseIn(value)
	case u.User != nil:
		password, ok := u.User.Password()
		found := secretsOf(u.User.Username(), password, ok)
		if _, rest, _ := strings.Cut(value, "@"); ok && strings.Contains(rest, "@") { // perhaps in the password too
			found = slices.Compact(append(found, looseIn(value)...))
		}
		return found
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && u.Path == "": // a password that begins as a port does
		return looseIn(value)
	}
	return nil
}

// looseIn returns the secrets of a URL that breaks the rules. Database drivers take all before the last @ for the user
// and the password.
func looseIn(value string) []string {
	_, rest, _ := strings.Cut(value, "://")
	if fields := strings.Fields(rest); len(fields) > 0 {
		rest = fields[0]
	}
	end := strings.LastIndexByte(rest, '@')
	if end < 0 {
		return nil
	}
	user, password, ok := strings.Cut(rest[:end], ":")
	found := secretsOf(user, password, ok)
	for _, raw := range found {
		if plain, err := url.PathUnescape(raw); err == nil && plain != raw {
			found = append(found, plain)
		}
	}
	return found
}

// secretsOf returns the password, or the user if there is none and the user is long enough for a token.
func secretsOf(user, password string, hasPassword bool) []string {
	switch {
	case hasPassword:
		return []string{password}
	case len(user) >= tokenLength:
		return []string{user}
	}
	return nil
}

const labelStart = "[redacted:"

// labelFor returns the text that replaces a secret. It is safe within JSON, a URL and a shell word,
// whatever the name.
func labelFor(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, name)
	return labelStart + safe + "]"
}
