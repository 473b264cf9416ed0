package fakemodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// script holds the parsed directives of one prompt.
type script struct {
	calls  []scripted
	rounds int
	faults []fault
	say    string
	think  string
	slow   int
	usage  TokenCount
}

// scripted is a call; its index in the script is part of its id.
type scripted struct {
	round int
	ToolCall
}

// fault is a Fault that happens after the given number of rounds. A first above zero limits it to
// that many requests.
type fault struct {
	after, first int
	Fault
}

var opening = regexp.MustCompile(`\[\[(say|fill|think|slow|tool|par|usage|hang|drop|errorx?)(:|\]\])`)

var errUnclosed = errors.New("it has no end")

// holdsScript reports whether a text has directives.
func holdsScript(text string) bool { return opening.MatchString(text) }

func parse(text string) (script, error) {
	s := script{usage: TokenCount{Input: 1000, Output: 20}}
	for {
		at := opening.FindStringSubmatchIndex(text)
		if at == nil {
			return s, nil
		}
		d := directive{name: text[at[2]:at[3]]}
		rest := text[at[1]:]
		var err error
		if text[at[4]:at[5]] == ":" {
			rest, err = d.read(rest)
		}
		if err == nil {
			err = s.add(d)
		}
		if err != nil {
			return s, fmt.Errorf("directive %s: %w", d.name, err)
		}
		text = rest
	}
}

// directive is one directive of a prompt, with its argument: a text or, for a call, the name of the
// tool and its input.
type directive struct {
	name, text string
	input      json.RawMessage
}

// read removes the argument from the text that follows the colon.
func (d *directive) read(text string) (rest string, err error) {
	end := strings.Index(text, "]]")
	if end < 0 {
		return "", errUnclosed
	}
	d.text, rest = text[:end], text[end+2:]
	value := 0
	if d.name == "tool" || d.name == "par" {
		if value = strings.IndexByte(d.text, '{'); value < 0 {
			d.text, d.input = strings.TrimSpace(d.text), json.RawMessage("{}")
			return rest, nil
		}
	} else if !strings.HasPrefix(d.text, `"`) {
		return rest, nil
	}
	raw, rest, err := readJSON(text[value:])
	if err != nil {
		return "", err
	}
	if d.text, d.input = strings.TrimSpace(text[:value]), raw; value == 0 {
		err = json.Unmarshal(raw, &d.text)
	}
	return rest, err
}

// readJSON removes a JSON value and the end of its directive from a text.
func readJSON(text string) (value json.RawMessage, rest string, err error) {
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&value); err != nil {
		return nil, "", err
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(text[dec.InputOffset():], " \n"), "]]")
	if !ok {
		return nil, "", errUnclosed
	}
	return value, rest, nil
}

func (s *script) add(d directive) (err error) {
	switch d.name {
	case "say":
		s.say += d.text
	case "fill":
		var n int
		n, err = strconv.Atoi(d.text)
		s.say += Filler(n)
	case "think":
		s.think = d.text
	case "slow":
		s.slow, err = strconv.Atoi(d.text)
	case "usage":
		err = s.usage.read(d.text)
	case "tool", "par":
		s.call(d)
	case "hang", "drop":
		f := fault{after: s.rounds, Fault: Fault{Hang: d.name == "hang", Drop: d.name == "drop"}}
		if d.text != "" {
			f.first, err = strconv.Atoi(d.text)
		}
		s.faults = append(s.faults, f)
	default:
		err = s.fail(d)
	}
	return err
}

func (s *script) call(d directive) {
	if d.name == "tool" || s.rounds == 0 {
		s.rounds++
	}
	s.calls = append(s.calls, scripted{s.rounds - 1, ToolCall{Tool: d.text, Input: d.input}})
}

func (s *script) fail(d directive) (err error) {
	f := fault{after: s.rounds}
	text := d.text
	if d.name == "errorx" {
		n, rest, _ := strings.Cut(text, ":")
		if f.first, err = strconv.Atoi(n); err != nil {
			return err
		}
		text = rest
	}
	status, text, _ := strings.Cut(text, ":")
	if f.Status, err = strconv.Atoi(status); err != nil {
		return err
	}
	f.Type, f.Text, _ = strings.Cut(text, ":")
	s.faults = append(s.faults, f)
	return nil
}

// read reads IN,OUT or IN,OUT,CACHED.
func (u *TokenCount) read(text string) error {
	numbers := strings.Split(text, ",")
	for i, into := range []*int{&u.Input, &u.Output, &u.Cached} {
		if i == len(numbers) {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(numbers[i]))
		if err != nil {
			return err
		}
		*into = n
	}
	return nil
}

// Say returns a directive for a final answer with any text.
func Say(text string) string { return "[[say:" + encode(text) + "]]" }

// Tool returns a directive for a call in a round of its own. input must marshal to a JSON object.
func Tool(name string, input any) string { return "[[tool:" + name + " " + encode(input) + "]]" }

// Par returns a directive for a call in the round of the call before it.
func Par(name string, input any) string { return "[[par:" + name + " " + encode(input) + "]]" }

// Filler returns the text of [[fill:N]]: n bytes without a line end.
func Filler(n int) string {
	const line = "0123456789abcdef"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

// encode returns v as JSON. It panics on a value that has no JSON form: a channel or a func.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
