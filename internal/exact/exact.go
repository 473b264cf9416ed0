// Package exact decodes JSON into structs without the leniency of encoding/json. It is for documents
// whose unknown parts must be refused, because a reader that skips a word of a contract does something
// else than the writer asked for.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Decode decodes an object into a struct whose fields all have a JSON name. It returns an error for
// input that encoding/json accepts: a member that is unknown, spelt in other letters, given twice,
// or missing without omitempty or omitzero, a null where the field is no pointer, and bytes that are
// not UTF-8. Structs within are decoded the same, unless they decode themselves.
func Decode(b []byte, to any) error { return decodeStruct(b, reflect.ValueOf(to).Elem()) }

func decodeStruct(b []byte, v reflect.Value) error {
	members, err := Members(b)
	if err != nil {
		return err
	}
	given := map[string]json.RawMessage{}
	for _, m := range members {
		given[m.Name] = m.Value
	}
	for i := range v.NumField() {
		name, rest, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		raw, ok := given[name]
		delete(given, name)
		switch {
		case !ok && (strings.Contains(rest, "omitempty") || strings.Contains(rest, "omitzero")):
			continue
		case !ok:
			return fmt.Errorf("%s is missing", name)
		case string(raw) == "null" && v.Field(i).Kind() != reflect.Pointer:
			return fmt.Errorf("%s is null", name)
		}
		if err := decodeValue(raw, v.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(given) > 0 {
		return fmt.Errorf("unknown members %q", slices.Sorted(maps.Keys(given)))
	}
	return nil
}

func decodeValue(raw json.RawMessage, v reflect.Value) error {
	_, itself := v.Addr().Interface().(json.Unmarshaler)
	switch {
	case itself:
	case v.Kind() == reflect.Struct:
		return decodeStruct(raw, v)
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct && string(raw) != "null":
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(raw, v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, raw := range list {
			if err := decodeValue(raw, v.Index(i)); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
	return json.Unmarshal(raw, v.Addr().Interface())
}

// Member is a member of an object, with its value as it is written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members splits an object into its members, in their order. It refuses an object that names a member twice: programs differ
// in which of the two counts.
func Members(b []byte) (members []Member, err error) {
	if !utf8.Valid(b) {
		return nil, errors.New("not UTF-8")
	}
	if err := json.Unmarshal(b, new(json.RawMessage)); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	given := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key := name.(string)
		if given[key] {
			return nil, fmt.Errorf("member %q is given twice", key)
		}
		given[key] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		members = append(members, Member{key, raw})
	}
	return members, nil
}

// Word sets to to the word b, or returns an error that lists the known words. What names the kind of word.
func Word[T ~string](to *T, b []byte, what string, known ...T) error {
	if !slices.Contains(known, T(b)) {
		var words []string
		for _, w := range known {
			words = append(words, string(w))
		}
		last := len(words) - 1
		return fmt.Errorf("unknown %s %q: want %s or %s", what, b, strings.Join(words[:last], ", "), words[last])
	}
	*to = T(b)
	return nil
}
