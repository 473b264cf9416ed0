package answer

import (
	"bytes"
	"strings"
)

// result is a result block, field by field.
type result struct {
	kind                      string
	summary, question, reason string
	needed                    []string
}

// declared reads an answer with a result block: what the block says and what the answer
// holds have to agree.
func (p *parser) declared() (Answer, error) {
	r, err := p.result(p.results[0])
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Kind: Kind(strings.ToUpper(r.kind)), Summary: r.summary}
	switch a.Kind {
	case Patch:
		a.Diff, err = p.declaredDiff()
	case Ask:
		a.Question, a.Reason, a.NeededInput = r.question, r.reason, r.needed
		if a.Question == "" {
			return Answer{}, wrong(NoQuestion, "type ASK needs a line question: with one question that the user can decide")
		}
		err = p.noDiff("ASK")
	case Noop:
		a.Reason = r.reason
		err = p.noDiff("NOOP")
	default:
		return Answer{}, wrong(UnknownType, "the type %q is not known; it is PATCH, ASK or NOOP", r.kind)
	}
	if err != nil {
		return Answer{}, err
	}
	if a.Summary == "" {
		a.Summary = p.summary()
	}
	return a, nil
}

func (p *parser) declaredDiff() ([]byte, *Error) {
	if len(p.patches) == 1 {
		diff, err := p.diff(p.patches[0])
		if err == nil && len(diff) == 0 {
			err = wrong(NoPatch, "the patch block is empty")
		}
		return diff, err
	}
	diff, err := p.loose()
	if err == nil && diff == nil {
		err = wrong(NoPatch, "the type is PATCH but there is no patch; put a unified diff between %s and %s", patchBegin, patchEnd)
	}
	return diff, err
}

// noDiff refuses an answer that declares a type without a patch and has one.
func (p *parser) noDiff(kind string) *Error {
	diff, err := p.loose()
	if len(p.patches) > 0 || diff != nil || err != nil {
		return wrong(Contradiction, "the type is %s but the answer has a patch; give exactly one of PATCH, ASK and NOOP", kind)
	}
	return nil
}

// result reads the fields of a result block. A line that begins no field goes on
// with the one before.
func (p *parser) result(b block) (result, *Error) {
	var r result
	fields := map[string]*string{"type": &r.kind, "summary": &r.summary, "question": &r.question, "reason": &r.reason}
	seen := make(map[string]bool)
	var open *string
	for i := b.from; i < b.to; i++ {
		line := strings.ToValidUTF8(string(bytes.TrimRight(p.lines[i], " \t\r\n")), "\ufffd")
		key, value, ok := strings.Cut(line, ":")
		key = strings.ToLower(strings.TrimSpace(key))
		field := fields[key]
		switch {
		case ok && (field != nil || key == "needed_input"):
			if seen[key] {
				return result{}, wrong(BadResult, "the result block has %s: twice", key)
			}
			seen[key] = true
			if open = field; field != nil {
				*field = strings.TrimSpace(value)
			} else if v := strings.TrimSpace(value); v != "" && v != "[]" {
				r.needed = append(r.needed, v)
			}
		case seen["needed_input"] && open == nil && strings.HasPrefix(strings.TrimSpace(line), "-"):
			r.needed = append(r.needed, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "-")))
		case open != nil && strings.TrimSpace(line) != "":
			*open = strings.TrimSpace(*open + " " + strings.TrimSpace(line))
		}
	}
	if r.kind == "" {
		return result{}, wrong(NoType, "the result block has no line type: with PATCH, ASK or NOOP")
	}
	return r, nil
}
