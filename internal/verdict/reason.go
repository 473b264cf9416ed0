package verdict

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

var (
	itemForm     = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+`)
	headingForm  = regexp.MustCompile(`^\s*#{1,6}\s`)
	questionForm = regexp.MustCompile("(?i)^[ \t#*_`]*question[*_` \t]*:[*_` \t]*")
)

// splitParagraphs splits a text into its list items and paragraphs, each on one line. It returns
// separately the paragraph that begins with QUESTION and a colon, the first one if there are several.
func splitParagraphs(text string) (question string, reasons []string) {
	var open []string
	closeOpen := func() {
		p := strings.Join(open, " ")
		open = nil
		q := questionForm.FindString(p)
		switch {
		case p == "":
		case q == "":
			reasons = append(reasons, p)
		case question == "":
			question = strings.TrimSpace(p[len(q):])
		}
	}
	for line := range strings.Lines(text) {
		mark := itemForm.FindString(line)
		if mark != "" || headingForm.MatchString(line) || questionForm.MatchString(line) {
			closeOpen()
		}
		line = strings.TrimSpace(line[len(mark):])
		if strings.Trim(line, decoration+"~-=") == "" || strings.HasPrefix(line, "```") {
			closeOpen()
			continue
		}
		open = append(open, strings.TrimLeft(line, "# "))
	}
	closeOpen()
	return question, reasons
}

// chooseQuestion returns the question to ask: the QUESTION paragraph, else the first reason that ends in a
// question mark, else the first reason.
func chooseQuestion(question string, reasons []string) string {
	if question == "" {
		i := slices.IndexFunc(reasons, func(r string) bool { return strings.HasSuffix(strings.TrimRight(r, decoration), "?") })
		if i = max(i, 0); i < len(reasons) {
			question = reasons[i]
		}
	}
	return display.Clip(question, MaxQuestionBytes)
}

// boundReasons returns at most MaxReasons reasons, each clipped to MaxReasonBytes. The question is chosen from reasons,
// which stay as they are.
func boundReasons(reasons []string) []string {
	reasons = slices.Clone(reasons[:min(len(reasons), MaxReasons)])
	for i, r := range reasons {
		reasons[i] = display.Clip(r, MaxReasonBytes)
	}
	return reasons
}
