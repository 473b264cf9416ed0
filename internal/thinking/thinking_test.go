package thinking_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/thinking"
)

func TestCut(t *testing.T) {
	const draft = "```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n"
	for _, tt := range []struct {
		name, text, want string
		err              error
	}{
		{name: "no thoughts", text: "Do it.\n" + draft, want: "Do it.\n" + draft},
		{name: "thoughts with a draft", text: "<think>\n" + draft + "no\n</think>\nThe plan", want: "\n\n\n\n\n\n\n\n\n\nThe plan"},
		{name: "the end within a line", text: "<thinking>hm</thinking>The plan\n", want: "The plan\n"},
		{name: "the end at the end of a line", text: "<think>a\nb.</think>\nThe plan\n", want: "\n\nThe plan\n"},
		{name: "capitals and attributes", text: "<Thinking signature=\"x\">hm\n</THINKING>\nx", want: "\n\nx"},
		{name: "another namespace", text: "<seed:think>hm</seed:think>x", want: "x"},
		{name: "brackets", text: "[THINK]hm[/THINK]x", want: "x"},
		{name: "triangles", text: "◁think▷hm◁/think▷x", want: "x"},
		{name: "a tag of two words", text: "<thought_process>hm</thought_process>x", want: "x"},
		{name: "analysis", text: "<analysis>\n" + draft + "</analysis>\nx", want: "\n\n\n\n\n\n\n\n\nx"},
		{name: "tokens of a template", text: "<|begin_of_thought|>hm<|end_of_thought|>x", want: "x"},
		{name: "tokens of DeepSeek", text: "<｜begin▁of▁thinking｜>hm<｜end▁of▁thinking｜>x", want: "x"},
		{name: "tokens of MedGemma", text: "<unused94>thought\nhm<unused95>x", want: "\nx"},
		{name: "bars in the tag", text: "<|thinking|>hm<|/thinking|>x", want: "x"},
		{name: "channels of gpt-oss", text: "<|channel|>analysis<|message|>hm\n" + draft + "no<|end|><|start|>assistant<|channel|>final<|message|>x", want: "\n\n\n\n\n\n\n\nx"},
		{name: "channels without their tokens", text: "analysisWe try:\n" + draft + "no.assistantfinalx", want: "\n\n\n\n\n\n\n\nx"},
		{name: "a word that begins like a channel", text: "analysisResult is wrong.\nx", want: "analysisResult is wrong.\nx"},
		{name: "a folded block", text: "<details>\n<summary>Steps</summary>\na\n</details>\nx", want: "<details>\n<summary>Steps</summary>\na\n</details>\nx"},
		{name: "a folded block of thoughts", text: "<details><summary>Thinking</summary>\na\n</details>\nx", want: "\n\n\nx"},
		{name: "a folded block of a web page", text: "<details type=\"reasoning\" done=\"true\">\na\n</details>\nx", want: "\n\n\nx"},
		{name: "a byte order mark before", text: "\ufeff<think>hm</think>x", want: "x"},
		{name: "prose before", text: "Sure.\n\n<think>\nhm\n</think>\nx\n", want: "Sure.\n\n\n\n\nx\n"},
		{name: "the end within a line that names the tag", text: "<think>hm</think>The tag `</think>` ends it\n", want: "The tag `</think>` ends it\n"},
		{name: "two blocks on a line", text: "<think>a</think><think>b</think>c", want: "c"},
		{name: "two blocks", text: "<think>a</think>\n<think>b</think>\nx", want: "\n\nx"},
		{name: "the tag named in the thoughts", text: "<think>\nThe end is `</think>`, I believe.\nso\n</think>\nx", want: "\n\n\n\nx"},
		{name: "the tag alone in the thoughts", text: "<think>\na\n</think>\nb\n</think>\nx", want: "\n\n\n\n\nx"},
		{name: "the tag in an added line of a draft", text: "<think>\n+</think>\nb\n</think>\nx", want: "\n\n\n\nx"},
		{name: "the tag in the answer's diff", text: "<think>a</think>\n+ s = '</think>'\n+</think>\n", want: "\n+ s = '</think>'\n+</think>\n"},
		{name: "no opening tag", text: "hm\n" + draft + "</think>\nx", want: "\n\n\n\n\n\n\n\n\nx"},
		{name: "a stray tag at the end", text: draft + "</think>\n", want: draft + "</think>\n"},
		{name: "a tag in a diff alone", text: "+</think>\n", want: "+</think>\n"},
		{name: "a tag in a sentence", text: "Use the tag <think> for it, and `</think>` after it.\n", want: "Use the tag <think> for it, and `</think>` after it.\n"},
		{name: "an opening tag in a fence", text: "```\n<think>\n```\n", want: "```\n<think>\n```\n"},
		{name: "no end", text: "<think>\nhm\n", err: thinking.ErrOpen},
		{name: "another end", text: "<think>\nhm\n</reasoning>\n", err: thinking.ErrOpen},
		{name: "nothing else", text: "<think>\nhm\n</think>\n\n", err: thinking.ErrNothing},
		{name: "very many blocks", text: strings.Repeat("<think>a</think>", 50_000) + "x", err: thinking.ErrUnclear},
		{name: "two ends with a draft between", text: "<think>a\n</think>\n" + draft + "</think>\nx", err: thinking.ErrUnclear},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := thinking.Cut([]byte(tt.text))
			if !errors.Is(err, tt.err) || string(got) != tt.want {
				t.Errorf("got %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// FuzzCut proves that nothing but whole thoughts goes: what stays is the text's beginning or end, line by line.
func FuzzCut(f *testing.F) {
	f.Add([]byte("Sure.\n<think>\na\n</think>\nx\n"))
	f.Add([]byte("a</think>b"))
	f.Add([]byte("<think>a</think><think>b</think>c"))
	f.Fuzz(func(t *testing.T, text []byte) {
		given := bytes.Clone(text)
		rest, err := thinking.Cut(text)
		if !bytes.Equal(given, text) {
			t.Fatal("the text was changed")
		}
		if err != nil || bytes.Equal(rest, text) {
			return
		}
		if bytes.Count(rest, []byte("\n")) != bytes.Count(text, []byte("\n")) {
			t.Errorf("%q became %q: the number of lines differs", text, rest)
		}
		lines, kept := bytes.SplitAfter(text, []byte("\n")), bytes.SplitAfter(rest, []byte("\n"))
		for i, line := range kept {
			if !bytes.HasSuffix(lines[i], line) && len(bytes.TrimSpace(line)) > 0 {
				t.Errorf("line %d is %q, want the end of %q", i+1, line, lines[i])
			}
		}
	})
}
