package explore

import (
	"context"
	"encoding/json"
	"errors"
)

// Tool is the description of a tool for a model. Properties and Required are members of
// the JSON Schema of its input, which is an object.
type Tool struct {
	Name        string
	Description string
	Properties  map[string]any
	Required    []string
}

type tool struct {
	Tool
	do func(e *Explorer, ctx context.Context, input json.RawMessage) (string, error)
}

var tools = []tool{
	{Tool{
		Name:        "list_files",
		Description: "Lists the files of the repository, as paths. If there are many files, it names directories instead: list those with their own prefix.",
		Properties:  object{"prefix": newProperty("string", "what the paths begin with, such as src/; all files without it")},
	}, withInput((*Explorer).listFiles)},
	{Tool{
		Name:        "read_file",
		Description: "Reads a text file of the repository, or some of its lines. Long files come in parts: read on from the line that is named then.",
		Properties: object{
			"path": newProperty("string", "the path, as list_files gives it"),
			"from": newProperty("integer", "the first line, from 1; 1 without it"),
			"to":   newProperty("integer", "the last line; the last that fits without it"),
		},
		Required: []string{"path"},
	}, withInput((*Explorer).readFile)},
	{Tool{
		Name:        "search_files",
		Description: "Finds the lines of the text files of the repository that hold a pattern, as path:line: text.",
		Properties: object{
			"pattern": newProperty("string", "what the lines hold: a literal text, or a regular expression in the syntax of RE2"),
			"regexp":  newProperty("boolean", "whether the pattern is a regular expression"),
			"prefix":  newProperty("string", "what the paths begin with; all files without it"),
		},
		Required: []string{"pattern"},
	}, withInput((*Explorer).searchFiles)},
}

type object = map[string]any

func newProperty(kind, says string) object { return object{"type": kind, "description": says} }

// Tools returns the tools, the same and in the same order each time.
func Tools() []Tool {
	all := make([]Tool, len(tools))
	for i, t := range tools {
		all[i] = t.Tool
	}
	return all
}

// withInput adapts do to a tool that reads its input. It ignores members that the tool does not know; no
// input is an empty one.
func withInput[T any](do func(*Explorer, context.Context, T) (string, error)) func(*Explorer, context.Context, json.RawMessage) (string, error) {
	return func(e *Explorer, ctx context.Context, input json.RawMessage) (string, error) {
		var in T
		if len(input) > 0 && json.Unmarshal(input, &in) != nil {
			return "", errors.New("the input is not what the tool takes")
		}
		return do(e, ctx, in)
	}
}
