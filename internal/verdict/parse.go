package verdict

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/thinking"
)

// decoration holds the Markdown characters that may surround the tag and its word. The marks of a
// quote, a list or a diff are not among them: a tag after such a mark is a citation.
const decoration = " \t#*_`"

var (
	tagForm  = regexp.MustCompile("(?i)decision[\"'*_` \t]*[:：]")
	wordNext = regexp.MustCompile("(?i)^[\\s\"'*_`]*(?:PASS|FIX|ASK)\\b")
	wordForm = regexp.MustCompile(`^[A-Za-z]+`)
	anyWord  = regexp.MustCompile(`\b(?:PASS|FIX|ASK)\b`)
	clause   = regexp.MustCompile(`^(?:[-–—:,;.]+\s+|[，；：。、]|[(（])`)

	// endToken is a token of a chat template that some servers leave behind the last line.
	endToken = regexp.MustCompile(`(?:<\|[a-z_]+\|>|</s>|<end_of_turn>)\s*$`)
)

// Parse reads an evaluator's answer. The caller judges first whether the provider finished the answer,
// because the missing part may hold a second decision. The error is an *Error.
//
// The answer holds one DECISION tag, at the beginning of a line. The word is the rest of that line or the
// next line that is not blank, in any case. A PASS stands alone. After FIX and ASK a clause may follow,
// which is the first reason. Parse does not read tags in other places, but it counts them: they make an
// answer with two decisions, or one without a usable decision. Thoughts before the answer are no part of it.
func Parse(text string) (Verdict, error) {
	if len(text) > MaxBytes {
		return Verdict{}, newError(TooLarge, "The verdict has %d bytes; at most %d are read. %s", len(text), MaxBytes, wantedForm)
	}
	said, err := thinking.Cut([]byte(text))
	if err != nil && !errors.Is(err, thinking.ErrNothing) {
		return Verdict{}, newError(NoDecision, "Cannot read the verdict: %v. %s", err, wantedForm)
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.TrimPrefix(string(said), "\ufeff"), "\r\n", "\n"), "\uFFFD")
	text = endToken.ReplaceAllString(text, "")
	if strings.TrimSpace(text) == "" {
		return Verdict{}, newError(Empty, "The verdict is empty. %s", wantedForm)
	}
	found := findTags(text)
	switch {
	case len(found) == 0:
		return Verdict{}, newError(NoDecision, "The verdict has no DECISION line. %s", wantedForm)
	case len(found) > 1:
		return Verdict{}, newError(ManyDecisions, "The verdict has %d DECISION tags. %s", len(found), wantedForm)
	case !found[0].first:
		return Verdict{}, newError(UnknownDecision, "The DECISION tag must be at the beginning of its line. %s", wantedForm)
	}
	return found[0].readVerdict(text)
}

const wantedForm = "Write exactly one line with DECISION, a colon and one of the words PASS, FIX and ASK, and the reasons after it."

// newError returns an Error with a formatted message.
func newError(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// tag is one place where the text names a decision.
type tag struct {
	start, end int  // the offsets of the line's beginning and of the byte after the colon
	first      bool // only decoration comes before it on the line
}

// findTags finds the tags: the word with its colon at the beginning of a line, in capitals anywhere, or
// anywhere with one of the three words after it. "The decision: keep the API" in the middle of a sentence
// is prose.
func findTags(text string) []tag {
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

// readVerdict reads the word after the tag, and the reasons and the question.
func (t tag) readVerdict(text string) (Verdict, error) {
	value, after := valueOf(text[t.end:])
	d, reason, ok := parseDecision(value)
	if !ok {
		return Verdict{}, newError(UnknownDecision, "The DECISION line says %q. %s", display.Clip(value, 60), wantedForm)
	}
	question, reasons := splitParagraphs(after)
	if reason != "" {
		reasons = slices.Insert(reasons, 0, reason)
	}
	if len(reasons) == 0 {
		_, reasons = splitParagraphs(text[:t.start])
	}
	v := Verdict{Decision: d, Reasons: boundReasons(reasons)}
	if d != Ask {
		return v, nil
	}
	if v.Question = chooseQuestion(question, reasons); v.Question == "" {
		return Verdict{}, newError(NoQuestion, "The decision is ASK, but the question is missing. Write it on a line that begins with QUESTION and a colon.")
	}
	return v, nil
}

// valueOf returns the first line that holds more than decoration, without it,
// and the text behind that line.
func valueOf(text string) (value, after string) {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if value = strings.Trim(line, decoration+"\r\u00a0\u200b"); value != "" {
			return value, text
		}
	}
	return "", ""
}

// signs are the pictures that may follow a decision and say the same.
var signs = map[Word]string{Pass: "✅✔✓☑👍🎉\ufe0f", Fix: "❌✗✘❎🔧🛠⚠\ufe0f", Ask: "❓❔⚠\ufe0f"}

// The quotes and brackets that may enclose a decision.
const (
	openers = "\"'“‘[" + decoration
	closers = "\"'”’].:!" + decoration
)

// parseDecision reads a decision and the reason that may follow it.
func parseDecision(value string) (d Word, reason string, ok bool) {
	given := value
	value = strings.TrimLeftFunc(value, func(r rune) bool { return !unicode.IsLetter(r) })
	w := wordForm.FindString(value)
	d = Word(strings.ToUpper(w))
	if !slices.Contains(decisions, d) {
		return "", "", false
	}
	if before := given[:len(given)-len(value)]; strings.Trim(before, openers+signs[d]) != "" {
		return "", "", false // the sign of another decision
	}
	rest := strings.Trim(value[len(w):], decoration+signs[d])
	if strings.Trim(rest, closers) == "" {
		return d, "", true
	}
	cut := clause.FindString(rest)
	if d == Pass || cut == "" || anyWord.MatchString(rest) {
		return "", "", false
	}
	if cut == "(" || cut == "（" {
		rest = strings.TrimRight(rest, ")）")
	}
	return d, strings.TrimSpace(rest[len(cut):]), true
}
