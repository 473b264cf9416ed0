package exact_test

import (
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

type document struct {
	Name  string    `json:"name"`
	Count int       `json:"count,omitempty"`
	At    time.Time `json:"at,omitzero"`
	Flag  *bool     `json:"flag"`
	Part  *part     `json:"part,omitempty"`
	Parts []part    `json:"parts,omitempty"`
}

type part struct {
	Name string `json:"name"`
}

func TestDecodeRefusesWhatEncodingJSONForgives(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"all members":               {`{"name":"a","count":1,"at":"2026-02-14T12:00:00Z","flag":true}`, true},
		"a null of a pointer":       {`{"name":"a","flag":null}`, true},
		"a member that is missing":  {`{"flag":null}`, false},
		"a member that is unknown":  {`{"name":"a","flag":null,"more":1}`, false},
		"another spelling":          {`{"Name":"a","flag":null}`, false},
		"a member given twice":      {`{"name":"a","name":"b","flag":null}`, false},
		"a null of no pointer":      {`{"name":null,"flag":null}`, false},
		"a value of another type":   {`{"name":1,"flag":null}`, false},
		"no object":                 {`["name"]`, false},
		"bytes that are not UTF-8":  {"{\"name\":\"\xff\",\"flag\":null}", false},
		"something after the end":   {`{"name":"a","flag":null} {}`, false},
		"a document that is cut":    {`{"name":"a"`, false},
		"nothing":                   {``, false},
		"null in the place of all":  {`null`, false},
		"a time that is no time":    {`{"name":"a","flag":null,"at":"now"}`, false},
		"parts":                     {`{"name":"a","flag":null,"part":{"name":"b"},"parts":[{"name":"c"}]}`, true},
		"a part that is null":       {`{"name":"a","flag":null,"part":null}`, true},
		"an unknown member below":   {`{"name":"a","flag":null,"part":{"name":"b","more":1}}`, false},
		"one in a list":             {`{"name":"a","flag":null,"parts":[{"name":"b"},{"name":"c","more":1}]}`, false},
		"a null in a list":          {`{"name":"a","flag":null,"parts":[null]}`, false},
		"no list":                   {`{"name":"a","flag":null,"parts":{}}`, false},
		"a zero that may be absent": {`{"name":"a","flag":null,"count":0}`, true},
	} {
		var d document
		if err := exact.Decode([]byte(tc.text), &d); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
