package verdict

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// decoration is the Markdown that may surround the tag and its word. A quote,
// a list or a diff mark is none: behind those a tag is someone else's.
const decoration = " \t#*_`"

var (
	tagForm  = regexp.MustCompile("(?i)decision[\"'*_` \t]*:")
	wordNext = regexp.MustCompile("(?i)^[\\s\"'*_`]*(?:PASS|FIX|ASK)\\b")
	wordForm = regexp.MustCompile(`^[A-Za-z]+`)
	anyWord  = regexp.MustCompile(`\b(?:PASS|FIX|ASK)\b`)
	clause   = regexp.MustCompile(`^(?:[-–—:,;.]+\s+|\()`)
)

// Parse reads an evaluator's answer. Whether the provider finished it is for
// the caller to judge first: the part that is missing may hold a second
// decision. The error is an *Error.
//
// The answer holds one DECISION tag, on a line that it begins. The word is the
// rest of that line or the next line that is not blank, in any case. A PASS
// stands alone; behind FIX and ASK a clause may follow, which is the first
// reason. Tags that stand elsewhere count too: they are not read, but they make
// the answer one of two decisions, or of none that can be used.
func Parse(text string) (Verdict, error) {
	if len(text) > MaxBytes {
		return Verdict{}, refuse(TooLarge, "The verdict has %d bytes; at most %d are read. %s", len(text), MaxBytes, wanted)
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return Verdict{}, refuse(Empty, "The verdict is empty. %s", wanted)
	}
	found := tags(text)
	switch {
	case len(found) == 0:
		return Verdict{}, refuse(NoDecision, "The verdict has no DECISION line. %s", wanted)
	case len(found) > 1:
		return Verdict{}, refuse(ManyDecisions, "The verdict has %d DECISION tags. %s", len(found), wanted)
	case !found[0].first:
		return Verdict{}, refuse(UnknownDecision, "The DECISION tag does not begin its line. %s", wanted)
	}
	return found[0].read(text)
}

const wanted = "Write exactly one line that is DECISION, a colon and one of the words PASS, FIX and ASK, and the reasons after it."

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// tag is one place where the text names a decision.
type tag struct {
	start, end int  // the bytes of the line's beginning and behind the colon
	first      bool // nothing but decoration stands before it
}

// tags finds the tags: the word with its colon at the beginning of a line, in
// capitals anywhere, or anywhere with one of the three words behind it. "The
// decision: keep the API" in the middle of a sentence is prose.
func tags(text string) []tag {
	var found []tag
	start := 0
	for line := range strings.Lines(text) {
		for i, at := range tagForm.FindAllStringIndex(line, -1) {
			t := tag{start: start, end: start + at[1]}
			t.first = i == 0 && strings.Trim(line[:at[0]], decoration) == ""
			capitals := strings.HasPrefix(line[at[0]:], "DECISION")
			if t.first || capitals || wordNext.MatchString(text[t.end:]) {
				found = append(found, t)
			}
		}
		start += len(line)
	}
	return found
}

// read reads the word behind the tag and all that follows from it.
func (t tag) read(text string) (Verdict, error) {
	value, after := valueOf(text[t.end:])
	d, reason, ok := word(value)
	if !ok {
		return Verdict{}, refuse(UnknownDecision, "The DECISION line says %q. %s", clip(value, 60), wanted)
	}
	question, reasons := paragraphs(after)
	if reason != "" {
		reasons = slices.Insert(reasons, 0, reason)
	}
	if len(reasons) == 0 {
		_, reasons = paragraphs(text[:t.start])
	}
	v := Verdict{Decision: d, Reasons: bound(reasons)}
	if d != Ask {
		return v, nil
	}
	if v.Question = ask(question, reasons); v.Question == "" {
		return Verdict{}, refuse(NoQuestion, "The decision is ASK, but nothing is asked. Write the question on a line that begins with QUESTION and a colon.")
	}
	return v, nil
}

// valueOf returns the first line that holds more than decoration, without it,
// and the text behind that line.
func valueOf(text string) (value, after string) {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if value = strings.Trim(line, decoration+"\r"); value != "" {
			return value, text
		}
	}
	return "", ""
}

// word reads a decision and the reason that may stand behind it.
func word(value string) (d Decision, reason string, ok bool) {
	w := wordForm.FindString(value)
	d = Decision(strings.ToUpper(w))
	if !slices.Contains(decisions, d) {
		return "", "", false
	}
	rest := strings.Trim(value[len(w):], decoration)
	if rest == "" || rest == "." {
		return d, "", true
	}
	cut := clause.FindString(rest)
	if d == Pass || cut == "" || anyWord.MatchString(rest) {
		return "", "", false
	}
	if cut == "(" {
		rest = strings.TrimSuffix(rest, ")")
	}
	return d, strings.TrimSpace(rest[len(cut):]), true
}
