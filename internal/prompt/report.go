package prompt

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Bounds of the report, in bytes. The report keeps more of the end than of the
// beginning, because most programs report failures last.
const (
	maxOutputHead = 3 << 10
	maxOutputTail = 5 << 10
	maxOutputs    = 32 << 10 // of all checks
)

// writeReport writes the results of the checks, the failed ones first.
func writeReport(list []Check) string {
	if len(list) == 0 {
		return ""
	}
	var failed, passed strings.Builder
	failures, room := 0, maxOutputs
	for _, c := range list {
		if c.Passed {
			fmt.Fprintf(&passed, "- passed: %s\n", codeSpan(c.Command))
			continue
		}
		failures++
		text := ""
		if room > 0 {
			text = writeOutput(c)
		}
		room -= len(text)
		fmt.Fprintf(&failed, "\n## Failed: %s\n\n%s\n%s", codeSpan(c.Command), outcomeLine(c), text)
	}
	text := fmt.Sprintf("Of %s, %d failed.\n", display.Count(len(list), "check", "checks"), failures) + failed.String()
	if passed.Len() > 0 {
		text += "\n" + passed.String()
	}
	return text
}

// writeBaseline writes the results of the checks on the commit where the branch begins.
func writeBaseline(list []Check) string {
	if len(list) == 0 {
		return ""
	}
	return "The results of the checks on the commit where the branch begins. A check may fail here because of the problem that the goal describes, or for another reason.\n\n" + writeReport(list)
}

// outcomeLine returns a check's outcome in one line.
func outcomeLine(c Check) string {
	how := cmp.Or(oneLine(c.Outcome, 300), "not passed")
	if c.Before {
		how += "; it also failed before any change"
	}
	return fmt.Sprintf("Outcome: %s; %d bytes of output.\n", how, outputSize(c))
}

// outputSize returns the length of a check's whole output.
func outputSize(c Check) int64 { return max(c.Bytes, int64(len(c.Head)+len(c.Tail))) }

// writeOutput returns the beginning and the end of a check's output, with the number of bytes between
// them.
func writeOutput(c Check) string {
	const most = maxOutputHead + maxOutputTail
	known := len(c.Head) + len(c.Tail)
	if outputSize(c) == int64(known) && known <= most {
		return quoteData("", c.Head+c.Tail, most)
	}
	first, last := c.Head, c.Tail
	if last == "" {
		first, last = first[:known/2], first[known/2:]
	}
	first, _ = headLines(first, maxOutputHead)
	last = tailLines(last, maxOutputTail)
	between := outputSize(c) - int64(len(first)+len(last))
	if first != "" && !strings.HasSuffix(first, "\n") {
		first += "\n"
	}
	text := fmt.Sprintf("%s[%d bytes left out]\n%s", first, between, last)
	return Fence("", cleanText(text))
}
