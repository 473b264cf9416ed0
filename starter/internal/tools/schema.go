package tools

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
)

// schemaOf returns the schema of a struct. It allows exactly the members of the struct, and
// only the words that the contracts define. It panics for a type without a schema, which is a
// mistake in this package.
func schemaOf[T any]() *jsonschema.Schema { return schemaWith[T](wordSchemas()) }

func schemaWith[T any](types map[reflect.Type]*jsonschema.Schema) *jsonschema.Schema {
	maps.Copy(types, map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[dispatch.Receipt](): receiptSchema(),
		reflect.TypeFor[dispatch.Outcome](): outcomeSchema(),
	})
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		panic(fmt.Sprintf("schema of a tool: %v", err))
	}
	return s
}

func wordSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[dispatch.GardenID](): {Type: "string", Pattern: dispatch.GardenPattern},
		reflect.TypeFor[dispatch.Intent]():   toolserver.OneOf(dispatch.Intents),
		reflect.TypeFor[dispatch.Mode]():     toolserver.OneOf(dispatch.Modes),
	}
}

// boundMax bounds the member max. It sets no default, because the SDK panics when it has to set a default in null.
func boundMax(s *jsonschema.Schema) *jsonschema.Schema {
	most := s.Properties["max"]
	most.Minimum, most.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(100.0)
	return s
}

// requestSchema returns the schema of a dispatch, as the contract has it.
func requestSchema() *jsonschema.Schema {
	s := schemaOf[dispatch.Request]()
	message := s.Properties["message"]
	message.MinLength, message.MaxLength = jsonschema.Ptr(1), jsonschema.Ptr(dispatch.MaxMessage)
	return s
}

// receiptSchema returns a schema with the members of both branches, because clients handle a
// schema without alternatives better. The contract's own schema keeps the branches apart.
func receiptSchema() *jsonschema.Schema {
	observed := toolserver.OneOf(dispatch.Livenesses)
	observed.Type, observed.Types, observed.Enum = "", []string{"string", "null"}, append(observed.Enum, nil)
	return &jsonschema.Schema{
		Type: "object", Description: "the decision, and the fact behind it",
		Properties: map[string]*jsonschema.Schema{
			"ok": {Type: "boolean"}, "action": toolserver.OneOf(dispatch.Actions), "transport": toolserver.OneOf(dispatch.Transports),
			"ownership": toolserver.OneOf(dispatch.Ownerships), "reason": toolserver.OneOf(dispatch.Reasons), "observedLiveness": observed,
		},
		Required:             []string{"ok", "observedLiveness"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

// outcomeSchema returns a schema with the members of every outcome and those that are reported to
// an agent.
func outcomeSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Description: "the outcome; absent if the receipt is a reject",
		Properties: map[string]*jsonschema.Schema{
			"kind": toolserver.OneOf(dispatch.Kinds), "transport": toolserver.OneOf(dispatch.Transports),
			"retrySafe": {Type: "boolean", Description: "whether the same message may be sent again"},
			"answer":    {Type: "string", Description: "the target's last words in the turn that was awaited"},
			"error":     {Type: "string"},
		},
		Required: []string{"kind", "transport", "retrySafe"},
	}
}

// pastSchema returns the schema of pastOutput. It names the type of a result that is not
// embedded, because the library cannot derive the schema of an outcome, which may hold another
// outcome.
func pastSchema() *jsonschema.Schema {
	types := wordSchemas()
	types[reflect.TypeFor[dispatch.Result]()] = &jsonschema.Schema{
		Type: "object", Description: "absent while it is in progress",
		Properties: map[string]*jsonschema.Schema{"receipt": receiptSchema(), "outcome": outcomeSchema(), "diagnostic": {Type: "string"}},
		Required:   []string{"receipt"},
	}
	return schemaWith[pastOutput](types)
}
