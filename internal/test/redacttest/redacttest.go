// Package redacttest looks for secrets where none may be. It shares no code with package redact, so that
// it finds the forms that package redact forgets.
package redacttest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	maxDepth    = 3        // encodings within encodings
	maxUnpacked = 64 << 20 // bytes of one gzip member
)

// Find returns the forms in which data holds the canary, such as "raw", "hex" or "base64: json", sorted,
// or nil if there are none. It looks for the canary raw, escaped for JSON, escaped for a URL, in
// hexadecimal, in base64 of both alphabets and any alignment, reversed, and with its halves swapped or
// reversed. It looks for all of these also within the texts to which base64, hexadecimal, gzip and JSON
// strings in data unpack. The canary must have 12 bytes at least, because its halves have to be
// distinctive.
func Find(data []byte, canary string) []string {
	if len(canary) < 12 {
		panic(fmt.Sprintf("redacttest: a canary of %d bytes proves nothing", len(canary)))
	}
	found := map[string]bool{}
	findForms(found, "", data, canary, maxDepth)
	var forms []string
	for form := range found {
		forms = append(forms, form)
	}
	slices.Sort(forms)
	return forms
}

// findForms adds the forms in data to found, and the forms within its encodings down to depth.
func findForms(found map[string]bool, within string, data []byte, canary string, depth int) {
	for form, texts := range writtenForms(canary) {
		for _, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				found[within+form] = true
				break
			}
		}
	}
	if depth == 0 {
		return
	}
	for _, unpack := range []struct {
		name string
		each func(data []byte, yield func([]byte))
	}{{"base64", eachBase64}, {"hex", eachHex}, {"gzip", eachGzip}, {"json", eachJSON}} {
		unpack.each(data, func(inner []byte) { findForms(found, within+unpack.name+": ", inner, canary, depth-1) })
	}
}

// writtenForms returns the texts of each form of the canary.
func writtenForms(canary string) map[string][]string {
	escaped, err := json.Marshal(canary)
	if err != nil {
		panic(err)
	}
	half := len(canary) / 2
	lower := hex.EncodeToString([]byte(canary))
	return map[string][]string{
		"raw":      {canary},
		"json":     {string(escaped[1 : len(escaped)-1])},
		"url":      {url.QueryEscape(canary), url.PathEscape(canary)},
		"hex":      {lower, strings.ToUpper(lower)},
		"base64":   base64Cores(canary),
		"reversed": {reverseString(canary), canary[half:] + canary[:half], reverseString(canary[:half]) + reverseString(canary[half:])},
	}
}

// base64Cores returns the canary's base64 without the characters that also hold bits of its neighbours. It
// finds them by encoding the canary between two different pairs of neighbours.
func base64Cores(canary string) []string {
	var all []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			ones := enc.EncodeToString([]byte(strings.Repeat("\xff", before) + canary + "\xff\xff"))
			zeros := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + canary + "\x00\x00"))
			from, to := 0, len(ones)
			for ones[from] != zeros[from] {
				from++
			}
			for i := from; i < len(ones); i++ {
				if ones[i] != zeros[i] {
					to = i
					break
				}
			}
			all = append(all, ones[from:to])
		}
	}
	return all
}

func reverseString(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

var (
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}`)
	hexRun    = regexp.MustCompile(`(?:[0-9a-fA-F]{2}){12,}`)
	jsonRun   = regexp.MustCompile(`"(?:[^"\\]|\\.)*\\.(?:[^"\\]|\\.)*"`) // with an escape in it
)

// eachBase64 decodes runs of the alphabet. A run that is whole base64 starts at its first character; other
// values may start at any of four.
func eachBase64(data []byte, yield func([]byte)) {
	standard := strings.NewReplacer("-", "+", "_", "/")
	for _, match := range base64Run.FindAll(data, -1) {
		text := standard.Replace(string(match))
		for skip := range 4 {
			whole := text[skip:]
			whole = whole[:len(whole)-len(whole)%4]
			if inner, err := base64.StdEncoding.DecodeString(whole); err == nil {
				yield(inner)
			}
		}
		if inner, err := base64.RawStdEncoding.DecodeString(text); err == nil {
			yield(inner)
		}
	}
}

func eachHex(data []byte, yield func([]byte)) {
	for _, match := range hexRun.FindAll(data, -1) {
		if inner, err := hex.DecodeString(string(match)); err == nil {
			yield(inner)
		}
	}
}

// eachGzip unpacks as much as possible from every place that looks like a gzip header.
func eachGzip(data []byte, yield func([]byte)) {
	magic := []byte{0x1f, 0x8b, 8}
	for at := bytes.Index(data, magic); at >= 0; {
		if r, err := gzip.NewReader(bytes.NewReader(data[at:])); err == nil {
			r.Multistream(false)
			inner, _ := io.ReadAll(io.LimitReader(r, maxUnpacked)) // a torn member may hold it too
			yield(inner)
		}
		next := bytes.Index(data[at+1:], magic)
		if next < 0 {
			return
		}
		at += 1 + next
	}
}

func eachJSON(data []byte, yield func([]byte)) {
	for _, match := range jsonRun.FindAll(data, -1) {
		var text string
		if json.Unmarshal(match, &text) == nil {
			yield([]byte(text))
		}
	}
}
