package answer

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// resultBlock holds the fields of a result block.
type resultBlock struct {
	kind                      string
	summary, question, reason string
	needed                    []string
}

// parseDeclared reads an answer with a result block. The block and the rest of the answer have to agree.
func (p *parser) parseDeclared() (Answer, error) {
	r, err := p.parseResult(p.results[0])
	if err != nil {
		return Answer{}, err
	}
	p.taken = append(p.taken, p.results[0])
	a := Answer{Kind: Kind(strings.ToUpper(r.kind)), Summary: r.summary}
	switch a.Kind {
	case Patch:
		p.addUnused(r.question, r.reason)
		p.addUnused(r.needed...)
		a.Diff, err = p.declaredDiff()
	case Ask:
		a.Question, a.Reason, a.NeededInput = r.question, r.reason, r.needed
		if a.Question == "" {
			return Answer{}, newError(NoQuestion, "type ASK needs a line `question:` with one question that the user can decide")
		}
		err = p.checkNoDiff("ASK")
	case Noop:
		p.addUnused(r.question)
		p.addUnused(r.needed...)
		a.Reason = r.reason
		err = p.checkNoDiff("NOOP")
	default:
		return Answer{}, newError(UnknownType, "unknown type %q: want PATCH, ASK or NOOP", r.kind)
	}
	if err != nil {
		return Answer{}, err
	}
	if a.Summary == "" {
		a.Summary = p.summarizeProse()
	}
	return a, nil
}

// addUnused notes texts of the result block that the answer has no place for.
func (p *parser) addUnused(texts ...string) {
	for _, t := range texts {
		if t != "" {
			p.unused = append(p.unused, t)
		}
	}
}

// declaredDiff returns the diff of an answer of the type PATCH.
func (p *parser) declaredDiff() ([]byte, *Error) {
	if len(p.patches) == 1 {
		p.taken = append(p.taken, p.patches[0])
		diff, err := p.blockDiff(p.patches[0])
		switch {
		case err != nil:
			return nil, err
		case len(diff) == 0:
			return nil, newError(NoPatch, "the patch block is empty")
		case p.hasDiffBehind(diff):
			return nil, newError(ManyPatches, "behind the patch block the answer has another diff; put the whole patch into one block")
		}
		return diff, nil
	}
	diff, err := p.findLoose()
	if err == nil && diff == nil {
		err = newError(NoPatch, "the type is PATCH but there is no patch; put a unified diff between %s and %s", patchBegin, patchEnd+udiff.Hint(p.text))
	}
	return diff, err
}

// hasDiffBehind reports whether a fence behind the patch block holds a diff that is no part of it. One before the block is
// a draft.
func (p *parser) hasDiffBehind(diff []byte) bool {
	known := len(p.taken)
	fenced, _, _ := p.findFences()
	found := p.taken[known:]
	p.taken = p.taken[:known]
	for i, d := range fenced {
		if found[i].from > p.patches[0].to && udiff.LooksLikeDiff(d) && !bytes.Contains(diff, bytes.TrimSpace(d)) {
			return true
		}
	}
	return false
}

// checkNoDiff refuses an answer that declares a type without a patch and has one.
func (p *parser) checkNoDiff(kind string) *Error {
	diff, err := p.findLoose()
	if len(p.patches) > 0 || diff != nil || err != nil {
		return newError(Contradiction, "the type is %s but the answer has a patch; give exactly one of PATCH, ASK and NOOP", kind)
	}
	return nil
}

// decoration is what Markdown writes around a key or a word.
const decoration = " \t*_`"

// cutField splits a line into the key and the value of a field. The colon may be a full-width one, and the key may be
// decorated.
func cutField(line string) (key, value string, ok bool) {
	at := strings.IndexFunc(line, func(r rune) bool { return r == ':' || r == '：' })
	if at < 0 {
		return "", "", false
	}
	key = strings.Trim(line[:at], decoration)
	value = strings.TrimPrefix(strings.TrimPrefix(line[at:], ":"), "：")
	if key != strings.TrimSpace(line[:at]) { // **key:** value
		value = strings.TrimLeft(value, decoration)
	}
	return strings.ToLower(key), strings.TrimSpace(value), true
}

// listedType matches the key of the field type in a list, or as JSON writes it.
var listedType = regexp.MustCompile(`(?i)^(?:[-*] |")type"?\s*[:：]`)

// behindType is what may follow the word of the field type: a comment.
var behindType = regexp.MustCompile(`\s*(?:#|//|\(|（)`)

// plainType returns the lines of the field type without quotes, brackets, decoration and a comment behind the word.
func (p *parser) plainType(lines []string) []string {
	if len(lines) != 1 {
		return lines
	}
	word, comment := lines[0], ""
	if at := behindType.FindStringIndex(word); at != nil {
		word, comment = word[:at[0]], word[at[1]:]
	}
	p.addUnused(strings.Trim(comment, " )）"))
	return []string{strings.Trim(word, decoration+"\"'“”‘’.,;![]<>\u200b\ufeff")}
}

// parseResult reads the fields of a result block. A line that begins no field continues the field before.
func (p *parser) parseResult(b block) (resultBlock, *Error) {
	var needed []string
	fields := map[string][]string{"type": nil, "summary": nil, "question": nil, "reason": nil} // their lines
	seen := make(map[string]bool)
	open := ""
	for i := b.from; i < b.to; i++ {
		line := strings.TrimSpace(strings.ToValidUTF8(string(p.lines[i]), "\ufffd"))
		if !seen["type"] {
			line = listedType.ReplaceAllString(line, "type:")
		}
		key, value, ok := cutField(line)
		_, known := fields[key]
		switch {
		case ok && (known || key == "needed_input"):
			if seen[key] {
				return resultBlock{}, newError(BadResult, "the result block has %s: twice", key)
			}
			seen[key] = true
			if open = key; known {
				fields[key] = append(fields[key], value)
			} else if value != "" && value != "[]" {
				needed = append(needed, value)
			}
		case open == "needed_input" && strings.HasPrefix(line, "-"):
			needed = append(needed, strings.TrimSpace(strings.TrimPrefix(line, "-")))
		case open != "" && open != "needed_input" && line != "":
			fields[open] = append(fields[open], line)
		default:
			p.addUnused(line)
		}
	}
	fields["type"] = p.plainType(fields["type"])
	text := func(key string) string { return strings.TrimSpace(strings.Join(fields[key], " ")) }
	r := resultBlock{kind: text("type"), summary: text("summary"), question: text("question"), reason: text("reason"), needed: needed}
	if r.kind == "" {
		return resultBlock{}, newError(NoType, "the result block has no line `type:` with PATCH, ASK or NOOP")
	}
	return r, nil
}
