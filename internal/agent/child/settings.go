package child

import (
	"os"
	"path/filepath"
	"regexp"
)

// If a client's settings name another API than the usual one, the box lets the client reach it. The files are the user's
// own: no program in a box can write them. A missing or unreadable file names no API, and the client itself reports the
// problem.

// ReadSettings returns a client's file of settings; it is empty where there is none.
func ReadSettings(path string) []byte {
	text, _ := os.ReadFile(path)
	return text
}

// HomeOf returns the directory that a variable names, or the one below HOME.
func HomeOf(values map[string]string, variable, dir string) string {
	if path := values[variable]; path != "" {
		return path
	}
	return filepath.Join(values["HOME"], dir)
}

var (
	jsonComments = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/`)
	jsonCommas   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|,\s*[}\]]`)
)

// PlainJSON returns JSON without the comments and the commas before a closing bracket that clients allow.
func PlainJSON(text []byte) []byte {
	text = jsonComments.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == '/' {
			return []byte(" ")
		}
		return m
	})
	return jsonCommas.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == ',' {
			return m[len(m)-1:]
		}
		return m
	})
}
