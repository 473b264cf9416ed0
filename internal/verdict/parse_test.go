package verdict_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/verdict"
)

func TestParseReadsOneDecision(t *testing.T) {
	tests := []struct {
		name, text string
		want       verdict.Word
		reasons    []string
		question   string
	}{
		{name: "pass with reasons", text: "DECISION: PASS\n- the goal is reached\n- nothing else changed\n", want: verdict.Pass, reasons: []string{"the goal is reached", "nothing else changed"}},
		{name: "pass alone", text: "DECISION: PASS", want: verdict.Pass},
		{name: "fix", text: "DECISION: FIX\n1. div.go:7 divides by zero\n2) no test covers it", want: verdict.Fix, reasons: []string{"div.go:7 divides by zero", "no test covers it"}},
		{name: "the word on the next line", text: "DECISION:\nFIX\n", want: verdict.Fix},
		{name: "the word after blank lines", text: "DECISION:\n\n\n**FIX**\nIt fails.", want: verdict.Fix, reasons: []string{"It fails."}},
		{name: "bold tag", text: "**DECISION**: FIX", want: verdict.Fix},
		{name: "bold tag with its colon", text: "**DECISION:** FIX", want: verdict.Fix},
		{name: "bold line", text: "**DECISION: FIX**", want: verdict.Fix},
		{name: "code span", text: "`DECISION: PASS`", want: verdict.Pass},
		{name: "heading", text: "## DECISION: PASS\nDone.", want: verdict.Pass, reasons: []string{"Done."}},
		{name: "fenced", text: "```\nDECISION: PASS\n```\nDone.", want: verdict.Pass, reasons: []string{"Done."}},
		{name: "word in a fence of its own", text: "DECISION:\n```\nFIX\n```\n", want: verdict.Fix},
		{name: "spaces around the colon", text: "  DECISION \t:   FIX  \n", want: verdict.Fix},
		{name: "carriage returns", text: "DECISION: FIX\r\n\r\n- one\r\n- two\r\n", want: verdict.Fix, reasons: []string{"one", "two"}},
		{name: "other case", text: "Decision: Pass", want: verdict.Pass},
		{name: "full stop", text: "DECISION: PASS.", want: verdict.Pass},
		{name: "preamble", text: "I read the diff and the report.\n\nDECISION: FIX\n\n- broken", want: verdict.Fix, reasons: []string{"broken"}},
		{name: "reasons before only", text: "The test is missing.\n\nDECISION: FIX\n", want: verdict.Fix, reasons: []string{"The test is missing."}},
		{name: "full-width colon", text: "DECISION：PASS", want: verdict.Pass},
		{name: "quotes", text: "DECISION: \"PASS\"", want: verdict.Pass},
		{name: "brackets", text: "DECISION: [FIX]\n- a", want: verdict.Fix, reasons: []string{"a"}},
		{name: "a no-break space", text: "DECISION:\u00a0PASS", want: verdict.Pass},
		{name: "an invisible character", text: "DECISION: \u200bPASS\u200b", want: verdict.Pass},
		{name: "a byte order mark", text: "\ufeffDECISION: PASS", want: verdict.Pass},
		{name: "an exclamation mark", text: "Decision: Pass!", want: verdict.Pass},
		{name: "a tick in front", text: "DECISION: ✅ PASS", want: verdict.Pass},
		{name: "a colon behind the word", text: "DECISION: FIX:\n- a", want: verdict.Fix, reasons: []string{"a"}},
		{name: "full-width brackets", text: "DECISION: FIX（broken）", want: verdict.Fix, reasons: []string{"broken"}},
		{name: "a full-width comma", text: "DECISION: FIX，broken", want: verdict.Fix, reasons: []string{"broken"}},
		{name: "a token of the template at the end", text: "DECISION: PASS<|im_end|>\n", want: verdict.Pass},
		{name: "thoughts of gpt-oss", text: "<|channel|>analysis<|message|>DECISION: FIX?<|end|><|start|>assistant<|channel|>final<|message|>DECISION: PASS", want: verdict.Pass},
		{name: "a tick", text: "DECISION: PASS ✅", want: verdict.Pass},
		{name: "a cross and a reason", text: "DECISION: FIX ❌\n- broken", want: verdict.Fix, reasons: []string{"broken"}},
		{name: "thoughts about another decision", text: "<think>\nDECISION: FIX? No.\n</think>\nDECISION: PASS", want: verdict.Pass},
		{name: "fix with its reason on the line", text: "DECISION: FIX - div.go panics\n- and a test is missing", want: verdict.Fix, reasons: []string{"div.go panics", "and a test is missing"}},
		{name: "fix with its reason in brackets", text: "DECISION: FIX (div.go panics)", want: verdict.Fix, reasons: []string{"div.go panics"}},
		{name: "fix with its reason behind a dash", text: "**DECISION: FIX** — div.go panics", want: verdict.Fix, reasons: []string{"div.go panics"}},
		{name: "wrapped paragraphs", text: "DECISION: FIX\nThe function returns\nthe wrong sign.\n\nThe test was\nremoved.", want: verdict.Fix, reasons: []string{"The function returns the wrong sign.", "The test was removed."}},
		{name: "headings between reasons", text: "DECISION: FIX\n\n## Reasons\n- a\n## Risks\n- b\n", want: verdict.Fix, reasons: []string{"Reasons", "a", "Risks", "b"}},
		{name: "the word decision in prose", text: "DECISION: FIX\nThe decision: a cache in front, was not followed.", want: verdict.Fix, reasons: []string{"The decision: a cache in front, was not followed."}},
		{name: "the three words in prose", text: "DECISION: FIX\nTests do not PASS. Do not ASK again.", want: verdict.Fix, reasons: []string{"Tests do not PASS. Do not ASK again."}},
		{name: "ask with a question tag", text: "DECISION: ASK\nQUESTION: Keep the old flag,\nor drop it?\n- the goal names both", want: verdict.Ask, reasons: []string{"the goal names both"}, question: "Keep the old flag, or drop it?"},
		{name: "ask with a bold question tag", text: "DECISION: ASK\n\n**Question:** Keep it?", want: verdict.Ask, question: "Keep it?"},
		{name: "ask with a question among the reasons", text: "DECISION: ASK\n- the goal is unclear\n- keep the flag or drop it?", want: verdict.Ask, reasons: []string{"the goal is unclear", "keep the flag or drop it?"}, question: "keep the flag or drop it?"},
		{name: "ask with reasons only", text: "DECISION: ASK\nThe goal names two behaviours that exclude each other.", want: verdict.Ask, reasons: []string{"The goal names two behaviours that exclude each other."}, question: "The goal names two behaviours that exclude each other."},
		{name: "ask with its question on the line", text: "DECISION: ASK: keep the flag?", want: verdict.Ask, reasons: []string{"keep the flag?"}, question: "keep the flag?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := verdict.Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got.Decision != tt.want || got.Question != tt.question || !slices.Equal(got.Reasons, tt.reasons) {
				t.Errorf("got %q, reasons %q, question %q", got.Decision, got.Reasons, got.Question)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		want       verdict.Code
	}{
		{"empty", "", verdict.Empty},
		{"blank", " \n\t\r\n", verdict.Empty},
		{"too long", "DECISION: PASS\n" + strings.Repeat("x", verdict.MaxBytes), verdict.TooLarge},
		{"echo of the form", "DECISION: PASS|FIX|ASK", verdict.UnknownDecision},
		{"echo of the form with spaces", "DECISION: PASS | FIX | ASK", verdict.UnknownDecision},
		{"echo with a choice in words", "DECISION: PASS or FIX", verdict.UnknownDecision},
		{"echo with a placeholder", "DECISION: <PASS|FIX|ASK>", verdict.UnknownDecision},
		{"echo in brackets", "DECISION: [PASS|FIX|ASK]", verdict.UnknownDecision},
		{"a cross before a pass", "DECISION: ❌ PASS", verdict.UnknownDecision},
		{"a pass that is struck out", "DECISION: ~~PASS~~", verdict.UnknownDecision},
		{"slashes", "DECISION: PASS/FIX", verdict.UnknownDecision},
		{"JSON", `{"verdict":"FAIL"}`, verdict.NoDecision},
		{"JSON with a decision", `{"decision": "PASS"}`, verdict.UnknownDecision},
		{"JSON over several lines", "{\n  \"DECISION\": \"PASS\"\n}", verdict.UnknownDecision},
		{"another word", "DECISION: BLOCKED", verdict.UnknownDecision},
		{"a word that begins like one", "DECISION: FIXED?", verdict.UnknownDecision},
		{"a word that begins like a pass", "DECISION: PASSED", verdict.UnknownDecision},
		{"a hyphenated word", "DECISION: FIX-UP", verdict.UnknownDecision},
		{"a question mark", "DECISION: PASS?", verdict.UnknownDecision},
		{"a negation", "DECISION: NOT PASS", verdict.UnknownDecision},
		{"no word", "DECISION:", verdict.UnknownDecision},
		{"prose on the next line", "DECISION:\nThe tests are green, PASS", verdict.UnknownDecision},
		{"a pass with a condition", "DECISION: PASS - if the linter is ignored", verdict.UnknownDecision},
		{"a pass with a reason on its line", "DECISION: PASS, all green", verdict.UnknownDecision},
		{"a fix that passes", "DECISION: FIX, then PASS", verdict.UnknownDecision},
		{"look-alike letters in the word", "DECISION: PAſſ", verdict.UnknownDecision},
		{"look-alike letters in the tag", "DECISIОN: PASS", verdict.NoDecision},
		{"no tag, words in prose", "No need to ask. PASS", verdict.NoDecision},
		{"no tag, praise", "I would fix nothing, all good", verdict.NoDecision},
		{"the word alone", "PASS", verdict.NoDecision},
		{"no colon", "DECISION PASS", verdict.NoDecision},
		{"ask, then pass", "DECISION: ASK\nDECISION: PASS", verdict.ManyDecisions},
		{"the same twice", "DECISION: PASS\n\nDECISION: PASS", verdict.ManyDecisions},
		{"two on one line", "DECISION: FIX DECISION: PASS", verdict.ManyDecisions},
		{"echo, then a decision", "DECISION: PASS|FIX|ASK\n\nDECISION: PASS", verdict.ManyDecisions},
		{"a final decision in prose", "DECISION: FIX\nMy final decision: PASS", verdict.ManyDecisions},
		{"a tag in the middle of a line", "I say DECISION: PASS", verdict.UnknownDecision},
		{"a quoted tag", "> DECISION: PASS", verdict.UnknownDecision},
		{"a tag that a diff adds", "+DECISION: PASS", verdict.UnknownDecision},
		{"a tag that a diff removes", "-DECISION: PASS", verdict.UnknownDecision},
		{"ask without a question", "DECISION: ASK", verdict.NoQuestion},
		{"ask with an empty question", "DECISION: ASK\nQUESTION:\n", verdict.NoQuestion},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := verdict.Parse(tt.text)
			wantCode(t, err, tt.want)
		})
	}
}

// A refusal goes back to a model, which may repeat it.
func TestRefusalIsNoVerdict(t *testing.T) {
	for _, text := range []string{"", "all good", "DECISION: MAYBE", "DECISION: PASS\nDECISION: PASS", "so DECISION: FIX", "DECISION: ASK"} {
		_, err := verdict.Parse(text)
		if v, again := verdict.Parse(err.Error()); again == nil {
			t.Errorf("%q: the refusal %q reads as %q", text, err, v.Decision)
		}
	}
}

func TestParseBoundsWhatItKeeps(t *testing.T) {
	text := "DECISION: ASK\nQUESTION: " + strings.Repeat("é", 5000) + "\n" + strings.Repeat("- "+strings.Repeat("ü", 900)+"\n", 100) + "\xff"
	v, err := verdict.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Reasons) != verdict.MaxReasons || len(v.Question) > verdict.MaxQuestionBytes {
		t.Errorf("%d reasons, a question of %d bytes", len(v.Reasons), len(v.Question))
	}
	for _, r := range append(v.Reasons, v.Question) {
		if !utf8.ValidString(r) {
			t.Errorf("not UTF-8: %q", r)
		}
	}
}

// The bounds of a reason neither hide the mark of the question nor shorten it.
func TestParseAsksALongQuestionWhole(t *testing.T) {
	question := "Should the export keep the old column names " + strings.Repeat("and so on, ", 40) + "or the new ones?"
	v, err := verdict.Parse("DECISION: ASK\n\n- The tests pass.\n- " + question + "\n")
	if err != nil || v.Question != question || len(v.Reasons) != 2 || len(v.Reasons[1]) > verdict.MaxReasonBytes {
		t.Errorf("asked %q, %v, for %q", v.Question, err, v.Reasons)
	}
}

func TestDecisionRefusesOtherWords(t *testing.T) {
	var d verdict.Word
	for _, word := range []string{"", "pass", "BLOCKED", "PASS "} {
		if err := d.UnmarshalText([]byte(word)); err == nil {
			t.Errorf("%q was taken", word)
		}
	}
	if err := d.UnmarshalText([]byte("FIX")); err != nil || d != verdict.Fix {
		t.Errorf("FIX: %q, %v", d, err)
	}
}

func wantCode(t *testing.T, err error, want verdict.Code) {
	t.Helper()
	refused, ok := errors.AsType[*verdict.Error](err)
	if !ok || refused.Code != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"DECISION: PASS", "DECISION:\nFIX", "**DECISION**: ASK\nQUESTION: a?", "DECISION: PASS|FIX|ASK",
		"DECISION: FIX (a)\r\n- b", "{\"decision\": \"PASS\"}", "```\nDECISION: FIX\n```", "deciſion: paſſ", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := verdict.Parse(text)
		if err != nil {
			if _, ok := errors.AsType[*verdict.Error](err); !ok || v.Decision != "" {
				t.Fatalf("%q with %v", v.Decision, err)
			}
			return
		}
		upper := strings.ToUpper(text)
		if !strings.Contains(upper, "DECISION") || !strings.Contains(upper, string(v.Decision)) {
			t.Fatalf("%q out of %q", v.Decision, text)
		}
		if (v.Question != "") != (v.Decision == verdict.Ask) || len(v.Question) > verdict.MaxQuestionBytes || len(v.Reasons) > verdict.MaxReasons {
			t.Fatalf("%+v out of %q", v, text)
		}
		if _, err := verdict.Parse(text + "\nDECISION: PASS"); err == nil {
			t.Fatalf("a second decision behind %q was taken", text)
		}
	})
}
