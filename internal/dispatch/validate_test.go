package dispatch_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// definition reads one definition of the schema that is checked in.
func definition(t *testing.T, name string) schema {
	t.Helper()
	b, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		Defs map[string]schema `json:"$defs"`
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	return whole.Defs[name]
}

// allows validates a value by as much of JSON Schema as schema.json uses. An
// unknown keyword fails the test: it would hold for nothing.
func allows(t *testing.T, s schema, v any) bool {
	t.Helper()
	for keyword, arg := range s {
		if !holds(t, s, keyword, arg, v) {
			return false
		}
	}
	return true
}

func holds(t *testing.T, s schema, keyword string, arg, v any) bool {
	t.Helper()
	object, isObject := v.(map[string]any)
	text, isText := v.(string)
	branches := func() (n int) {
		for _, b := range arg.([]any) {
			if allows(t, b.(schema), v) {
				n++
			}
		}
		return n
	}
	switch keyword {
	case "description", "then", "else":
		return true
	case "type":
		return arg == typeOf(v)
	case "const":
		return reflect.DeepEqual(arg, v)
	case "enum":
		return slices.Contains(arg.([]any), v)
	case "pattern":
		return !isText || regexp.MustCompile(arg.(string)).MatchString(text)
	case "minLength":
		return !isText || float64(utf8.RuneCountInString(text)) >= arg.(float64)
	case "maxLength":
		return !isText || float64(utf8.RuneCountInString(text)) <= arg.(float64)
	case "oneOf":
		return branches() == 1
	case "anyOf":
		return branches() > 0
	case "required":
		return !isObject || !slices.ContainsFunc(arg.([]any), func(name any) bool { _, in := object[name.(string)]; return !in })
	case "properties":
		for name, member := range object {
			if of, in := arg.(schema)[name]; in && !allows(t, of.(schema), member) {
				return false
			}
		}
		return true
	case "additionalProperties":
		for name := range object {
			if _, in := s["properties"].(schema)[name]; !in {
				return false
			}
		}
		return true
	case "if":
		if allows(t, arg.(schema), v) {
			return allows(t, s["then"].(schema), v)
		}
		return allows(t, s["else"].(schema), v)
	}
	t.Fatalf("unknown keyword %q", keyword)
	return false
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "number"
}

// agrees checks that the schema and the decoder say the same of a text.
func agrees(t *testing.T, s schema, text string, into json.Unmarshaler) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return
	}
	if err := into.UnmarshalJSON([]byte(text)); (err == nil) != allows(t, s, v) {
		t.Errorf("the schema does not agree with the decoder, which says %v of %s", err, text)
	}
}

func TestTheSchemaIsAsStrictAsTheDecoder(t *testing.T) {
	in, request := definition(t, "input"), definition(t, "request")
	for _, tt := range inputs {
		agrees(t, in, tt.text, new(dispatch.Input))
		agrees(t, request, asRequest(tt.text, "hello"), new(dispatch.Request))
		agrees(t, request, tt.text, new(dispatch.Request))
	}
	for _, tt := range messages {
		agrees(t, request, asRequest(`{"target":"`+gid+`","intent":"fire-and-forget"}`, tt.text), new(dispatch.Request))
	}
	receipt := definition(t, "receipt")
	for _, text := range ill {
		agrees(t, receipt, text, new(dispatch.Receipt))
	}
	for _, text := range everyReceipt(t) {
		agrees(t, receipt, text, new(dispatch.Receipt))
	}
}

// everyReceipt combines the words of both branches in all ways.
func everyReceipt(t *testing.T) []string {
	var all []string
	add := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	for _, observed := range append([]dispatch.Liveness{""}, dispatch.Livenesses...) {
		for _, why := range dispatch.Reasons {
			add(dispatch.Refusal{Reason: why, Observed: &observed})
			add(dispatch.Refusal{Reason: why})
		}
		for _, a := range dispatch.Actions {
			for _, by := range dispatch.Transports {
				for _, o := range dispatch.Ownerships {
					add(dispatch.Success{OK: true, Action: a, Transport: by, Ownership: o, Observed: observed})
				}
			}
		}
	}
	return all
}
