package dispatch_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/golden"
)

// words are the sets behind the types of the contract.
var words = map[reflect.Type]any{
	reflect.TypeFor[dispatch.Intent]():    dispatch.Intents,
	reflect.TypeFor[dispatch.Mode]():      dispatch.Modes,
	reflect.TypeFor[dispatch.Liveness]():  dispatch.Livenesses,
	reflect.TypeFor[dispatch.Transport](): dispatch.Transports,
	reflect.TypeFor[dispatch.Action]():    dispatch.Actions,
	reflect.TypeFor[dispatch.Ownership](): dispatch.Ownerships,
	reflect.TypeFor[dispatch.Reason]():    dispatch.Reasons,
}

type schema = map[string]any

// schemaOf is the schema of a struct: exactly its members, those without
// omitempty required.
func schemaOf(t *testing.T, of reflect.Type) schema {
	properties, required := schema{}, []string{}
	for f := range of.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := schemaOfMember(t, f.Type)
		if about := f.Tag.Get("jsonschema"); about != "" {
			p["description"] = about
		}
		properties[name] = p
		if rest == "" {
			required = append(required, name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func schemaOfMember(t *testing.T, of reflect.Type) schema {
	set, ok := words[of]
	switch {
	case ok:
		return schema{"type": "string", "enum": set}
	case of == reflect.TypeFor[dispatch.GardenID]():
		return schema{"type": "string", "pattern": dispatch.GardenPattern}
	case of.Kind() == reflect.Pointer:
		return schema{"oneOf": []schema{schemaOfMember(t, of.Elem()), {"type": "null"}}}
	case of.Kind() == reflect.Bool:
		return schema{"type": "boolean"}
	case of.Kind() == reflect.String:
		return schema{"type": "string"}
	}
	t.Fatalf("no schema for %s", of)
	return nil
}

func property(s schema, name string) schema { return s["properties"].(schema)[name].(schema) }

func requestSchema(t *testing.T) schema {
	s := schemaOf(t, reflect.TypeFor[dispatch.Request]())
	message := property(s, "message")
	message["minLength"], message["maxLength"] = 1, dispatch.MaxMessage
	return s
}

// successSchema allows the cells that accept, and nothing else.
func successSchema(t *testing.T) schema {
	s := schemaOf(t, reflect.TypeFor[dispatch.Success]())
	property(s, "ok")["const"] = true
	var accepting []schema
	for _, c := range cells {
		r := dispatch.Resolve(c.intent, c.observed, c.deliverable)
		one := schema{"properties": schema{
			"action": schema{"const": r.Action()}, "transport": schema{"const": r.Transport()},
			"ownership": schema{"const": r.Ownership()}, "observedLiveness": schema{"const": r.Observed()},
		}}
		if r.OK() && !containsDeep(accepting, one) {
			accepting = append(accepting, one)
		}
	}
	s["anyOf"] = accepting
	return s
}

func containsDeep(list []schema, one schema) bool {
	for _, s := range list {
		if reflect.DeepEqual(s, one) {
			return true
		}
	}
	return false
}

// refusalSchema holds the rule of the null: before a probe, and only then.
func refusalSchema(t *testing.T) schema {
	s := schemaOf(t, reflect.TypeFor[dispatch.Refusal]())
	property(s, "ok")["const"] = false
	var early []dispatch.Reason
	for _, why := range dispatch.Reasons {
		if why.BeforeProbe() {
			early = append(early, why)
		}
	}
	observed := func(is string) schema {
		return schema{"properties": schema{"observedLiveness": schema{"type": is}}}
	}
	s["if"] = schema{"properties": schema{"reason": schema{"enum": early}}}
	s["then"], s["else"] = observed("null"), observed("string")
	return s
}

func TestSchema(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(schema{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Dispatch",
		"description": "The contract of a dispatch: its input, its input with the message as tools spell it, and its receipt.",
		"$defs": schema{
			"input":   schemaOf(t, reflect.TypeFor[dispatch.Input]()),
			"request": requestSchema(t),
			"receipt": schema{"oneOf": []schema{successSchema(t), refusalSchema(t)}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "schema.json", b.String())
}
