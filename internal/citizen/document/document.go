// Package document reads and writes the JSON objects of the registry, which programs in another
// language also write and read. Reading is strict: names are compared letter by letter, and a
// member of another type, or a member that does not belong, is an error. The package knows no
// document of its own.
package document

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Stamp formats a time as the registry does: UTC, in milliseconds.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Object is a JSON object whose members are taken one by one. Err returns all problems with them.
type Object struct {
	members map[string]json.RawMessage
	errs    []error
}

// Parse returns an error for everything except one object.
func Parse(b []byte) (*Object, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if members == nil {
		return nil, errors.New("not a JSON object: null")
	}
	return &Object{members: members}, nil
}

// Err returns the problems with the members taken so far.
func (o *Object) Err() error { return errors.Join(o.errs...) }

// Only refuses every member with another name.
func (o *Object) Only(names ...string) {
	var stray []string
	for name := range o.members {
		if !slices.Contains(names, name) {
			stray = append(stray, name)
		}
	}
	if len(stray) > 0 {
		slices.Sort(stray)
		o.errs = append(o.errs, fmt.Errorf("unknown members: %q", stray))
	}
}

// Text returns a string member that is not empty.
func (o *Object) Text(name string) string {
	text, ok := takeMember[string](o, name, "a string")
	if ok && text == "" {
		o.Refuse(name, "an empty string")
	}
	return text
}

// Nullable returns a string member that is not empty, or empty for null. The member has to be
// there.
func (o *Object) Nullable(name string) string {
	if string(o.members[name]) == "null" {
		return ""
	}
	return o.Text(name)
}

// Optional returns a string member that is not empty, or empty when there is no such member.
func (o *Object) Optional(name string) string {
	if _, ok := o.members[name]; !ok {
		return ""
	}
	return o.Text(name)
}

// Word decodes a string into a closed set.
func (o *Object) Word(name string, to encoding.TextUnmarshaler) {
	text := o.Text(name)
	if text == "" {
		return
	}
	if err := to.UnmarshalText([]byte(text)); err != nil {
		o.errs = append(o.errs, fmt.Errorf("member %s: %w", name, err))
	}
}

// Flag returns a member that is true or false.
func (o *Object) Flag(name string) bool {
	flag, _ := takeMember[bool](o, name, "true or false")
	return flag
}

// Int returns a member that is a whole number.
func (o *Object) Int(name string) int {
	n, _ := takeMember[int](o, name, "a whole number")
	return n
}

// Object returns a member that is an object itself, or nil when it is not.
func (o *Object) Object(name string) *Object {
	inner, err := Parse(o.members[name])
	if err != nil {
		o.errs = append(o.errs, fmt.Errorf("member %s: %w", name, err))
	}
	return inner
}

// Has reports whether there is a member of that name.
func (o *Object) Has(name string) bool {
	_, ok := o.members[name]
	return ok
}

// Refuse adds a problem that a caller found with a member.
func (o *Object) Refuse(name, why string) {
	o.errs = append(o.errs, fmt.Errorf("member %s: %s", name, why))
}

// takeMember returns the member as a T; null is not one.
func takeMember[T any](o *Object, name, want string) (value T, ok bool) {
	raw, there := o.members[name]
	if !there {
		o.Refuse(name, "missing")
		return value, false
	}
	if string(raw) == "null" || json.Unmarshal(raw, &value) != nil {
		o.Refuse(name, "not "+want)
		return value, false
	}
	return value, true
}

// Marshal writes a document: indented by two spaces, members in the order of the fields, a newline
// at the end.
func Marshal(v any) ([]byte, error) { return marshalIndented(v, "  ") }

// Line writes a document as one line.
func Line(v any) ([]byte, error) { return marshalIndented(v, "") }

func marshalIndented(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return separators.ReplaceAllFunc(b.Bytes(), func(escape []byte) []byte {
		switch string(escape) {
		case `\u2028`:
			return []byte("\u2028")
		case `\u2029`:
			return []byte("\u2029")
		}
		return escape
	}), nil
}

// separators matches the two characters that encoding/json escapes and the other programs do not.
// It also matches escaped backslashes, which leaves the text after an escaped backslash alone.
var separators = regexp.MustCompile(`\\(?:\\|u202[89])`)

// Nullable returns a pointer to a string, for a member that is null where there is none.
func Nullable[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}
