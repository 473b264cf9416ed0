package explore

import (
	"context"
	"encoding/json"
	"errors"
)

// Tool is what a model is told of a tool. Properties and Required are those of
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
		Description: "Lists the files of the repository, as paths. With many files, directories stand for those in them: list those with their own prefix.",
		Properties:  object{"prefix": property("string", "what the paths begin with, such as src/; all files without it")},
	}, takes((*Explorer).listFiles)},
	{Tool{
		Name:        "read_file",
		Description: "Reads a text file of the repository, or some of its lines. Long files come in parts: read on from the line that is named then.",
		Properties: object{
			"path": property("string", "the path, as list_files gives it"),
			"from": property("integer", "the first line, from 1; 1 without it"),
			"to":   property("integer", "the last line; the last that fits without it"),
		},
		Required: []string{"path"},
	}, takes((*Explorer).readFile)},
	{Tool{
		Name:        "search_files",
		Description: "Finds the lines of the text files of the repository that hold a pattern, as path:line: text.",
		Properties: object{
			"pattern": property("string", "what the lines hold: a literal text, or a regular expression in the syntax of RE2"),
			"regexp":  property("boolean", "whether the pattern is a regular expression"),
			"prefix":  property("string", "what the paths begin with; all files without it"),
		},
		Required: []string{"pattern"},
	}, takes((*Explorer).searchFiles)},
}

type object = map[string]any

func property(kind, says string) object { return object{"type": kind, "description": says} }

// Tools are the tools, the same and in the same order each time.
func Tools() []Tool {
	all := make([]Tool, len(tools))
	for i, t := range tools {
		all[i] = t.Tool
	}
	return all
}

// takes reads the input of a tool. Members that the tool does not know are
// ignored; no input is an empty one.
func takes[T any](do func(*Explorer, context.Context, T) (string, error)) func(*Explorer, context.Context, json.RawMessage) (string, error) {
	return func(e *Explorer, ctx context.Context, input json.RawMessage) (string, error) {
		var in T
		if len(input) > 0 && json.Unmarshal(input, &in) != nil {
			return "", errors.New("the input is not what the tool takes")
		}
		return do(e, ctx, in)
	}
}
