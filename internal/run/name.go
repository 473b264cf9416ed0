package run

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Name is the short name of a run for people: the label of its repository and a number, as in
// slug#14. No two runs of a host share one. A run that was started without one has its id alone.
type Name string

// MaxNumber is the largest number of a name.
const MaxNumber = 999_999

// maxLabel bounds the bytes of a label.
const maxLabel = 24

var nameForm = regexp.MustCompile(`^([a-z0-9]+(?:-[a-z0-9]+)*)[#/]([1-9][0-9]{0,5})$`)

// NewName returns the name of the number under the label, which Label has made.
func NewName(label string, number int) Name { return Name(fmt.Sprintf("%s#%d", label, number)) }

// ParseName reads a name as a person types it: slug#14, or slug/14 for a shell in which # has a meaning.
func ParseName(text string) (Name, bool) {
	m := nameForm.FindStringSubmatch(text)
	if m == nil || len(m[1]) > maxLabel {
		return "", false
	}
	return Name(m[1] + "#" + m[2]), true
}

// ParseNumber reads the number of a name alone, as in 14.
func ParseNumber(text string) (number int, ok bool) {
	name, ok := ParseName("x#" + text)
	return name.Number(), ok
}

// Validate returns an error unless the name has the form of slug#14.
func (n Name) Validate() error {
	if parsed, ok := ParseName(string(n)); !ok || parsed != n {
		return fmt.Errorf("name %+.60q: want the label of the repository, '#' and a number, such as slug#14", string(n))
	}
	return nil
}

// Number returns the number in the name; zero for an empty name.
func (n Name) Number() int {
	_, text, _ := strings.Cut(string(n), "#")
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return number
}

// Label returns the label of a repository: the last part of its path in lower-case letters, digits and '-'.
// Repositories whose paths end alike share a label, and the numbers under it.
func Label(repository string) string {
	base := strings.TrimSuffix(path.Base(strings.TrimSuffix(path.Clean(repository), "/.git")), ".git")
	label := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(base), "-"), "-")
	label = strings.TrimRight(label[:min(len(label), maxLabel)], "-")
	if label == "" {
		return "repository"
	}
	return label
}

// Shown returns how a run is called in front of people: by its name, or by its id where it has none.
func (n Name) Shown(id ID) string {
	if n == "" {
		return string(id)
	}
	return string(n)
}
