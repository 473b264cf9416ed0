package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// lineLength is the length from which a line of a secret counts as a secret by itself. The lines of a PEM
// block have 64 characters.
const lineLength = 32

// formsOf returns the ways in which a value may be written, some of them more than once. Each has at least
// MinLength bytes.
func formsOf(value string) []string {
	forms := writtenForms(value)
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines { // a diff prefixes lines, so that each is shown by itself
			line = strings.TrimSpace(line)
			if len(line) >= lineLength && !strings.ContainsAny(line, " \t") {
				forms = append(forms, writtenForms(line)...)
			}
		}
	}
	return forms
}

// writtenForms returns the ways in which one value or line may be written.
func writtenForms(value string) []string {
	forms := []string{value}
	for _, once := range inJSON(value) {
		forms = append(append(forms, once), inJSON(once)...)
	}
	forms = append(forms, inURL(value)...)
	forms = append(forms, inBase64(value)...)
	lower := hex.EncodeToString([]byte(value))
	return append(forms, lower, strings.ToUpper(lower))
}

// inJSON returns the value escaped as Go does, with and without HTML escapes, as encoders do that escape
// everything but ASCII, and as encoders do that escape the slash.
func inJSON(value string) []string {
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // a string always encodes
	text := plain.String()
	text = text[1 : len(text)-2]

	html, _ := json.Marshal(value)
	ascii := escapeASCII(text)
	forms := []string{text, string(html[1 : len(html)-1]), ascii, upperEscapes.ReplaceAllStringFunc(ascii, upperHex)}
	for _, f := range forms {
		forms = append(forms, strings.ReplaceAll(f, "/", `\/`))
	}
	return forms
}

// escapeASCII escapes every character outside ASCII as JSON does.
func escapeASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

var upperEscapes = regexp.MustCompile(`\\u[0-9a-f]{4}`)

func upperHex(escape string) string { return `\u` + strings.ToUpper(escape[2:]) }

// inURL returns the value escaped for a query, for a path, for user information, and with every character
// escaped that is not a letter, a digit, or one of -_.~ , with the digits in both cases.
func inURL(value string) []string {
	query := url.QueryEscape(value)
	forms := []string{
		query,
		strings.ReplaceAll(query, "+", "%20"),
		componentEscapes.Replace(query),
		url.PathEscape(value),
		url.User(value).String(),
	}
	for _, f := range forms {
		forms = append(forms, percents.ReplaceAllStringFunc(f, strings.ToLower))
	}
	return forms
}

// componentEscapes turns url.QueryEscape's output into the output of JavaScript's
// encodeURIComponent.
var componentEscapes = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

var percents = regexp.MustCompile(`%[0-9A-F]{2}`)

// inBase64 returns the part of the value's base64 that is the same whatever bytes are before and after it.
// It does so for each of the three places in a group of three bytes where the value can begin, in both
// alphabets.
func inBase64(value string) []string {
	var forms []string
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		// A character holds 6 bits. Skip the characters that hold a bit of the bytes
		// before, and drop the last one if it holds a bit of the bytes after.
		from, to := (8*before+5)/6, 8*len(padded)/6
		std := base64.RawStdEncoding.EncodeToString(padded)[from:to]
		forms = append(forms, std, strings.NewReplacer("+", "-", "/", "_").Replace(std))
	}
	return forms
}
