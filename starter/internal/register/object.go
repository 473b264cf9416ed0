package register

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// object is a JSON object that keeps the order of its members, and their values as they are written.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// parseObject refuses everything but one object, and an object that names a member twice: programs
// differ in which of the two counts.
func parseObject(b []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	o := object{}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("it is not a JSON object: %w", err)
		}
		if _, twice := o.get(name); twice {
			return nil, fmt.Errorf("it has the member %q twice", name)
		}
		m := member{name: name}
		if err := dec.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("it is not a JSON object: %w", err)
		}
		o = append(o, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text follows the JSON object")
	}
	return o, nil
}

func (o object) get(name string) (json.RawMessage, bool) {
	i := slices.IndexFunc(o, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil, false
	}
	return o[i].value, true
}

// with returns the object with the member set, or without it if value is nil.
func (o object) with(name string, value json.RawMessage) object {
	o = slices.Clone(o)
	i := slices.IndexFunc(o, func(m member) bool { return m.name == name })
	switch {
	case value == nil && i >= 0:
		return slices.Delete(o, i, i+1)
	case value == nil:
		return o
	case i >= 0:
		o[i].value = value
		return o
	}
	return append(o, member{name, value})
}

// bytes returns the object in one line.
func (o object) bytes() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string always can be
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
