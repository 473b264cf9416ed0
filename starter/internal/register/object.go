package register

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// object is a JSON object that keeps the order of its members, and their values as they are written.
type object []exact.Member

// parseObject refuses everything but one object, and an object that names a member twice.
func parseObject(b []byte) (object, error) {
	o, err := exact.Members(b)
	if err != nil {
		return nil, fmt.Errorf("it is not a JSON object with each member once: %w", err)
	}
	return o, nil
}

func (o object) get(name string) (json.RawMessage, bool) {
	i := slices.IndexFunc(o, func(m exact.Member) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return o[i].Value, true
}

// with returns the object with the member set, or without it if value is nil.
func (o object) with(name string, value json.RawMessage) object {
	o = slices.Clone(o)
	i := slices.IndexFunc(o, func(m exact.Member) bool { return m.Name == name })
	switch {
	case value == nil && i >= 0:
		return slices.Delete(o, i, i+1)
	case value == nil:
		return o
	case i >= 0:
		o[i].Value = value
		return o
	}
	return append(o, exact.Member{Name: name, Value: value})
}

// bytes returns the object in one line.
func (o object) bytes() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.Name) // a string always can be
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
