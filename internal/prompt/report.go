package prompt

import (
	"fmt"
	"strings"
)

// Bounds of the report, in bytes. More of the end is kept than of the
// beginning: most programs say last what failed.
const (
	maxOutputHead = 3 << 10
	maxOutputTail = 5 << 10
	maxOutputs    = 32 << 10 // of all checks
)

// report writes how the checks ended, those that failed first.
func report(list []Check) string {
	if len(list) == 0 {
		return ""
	}
	var failed, passed strings.Builder
	failures, room := 0, maxOutputs
	for _, c := range list {
		if c.Passed {
			fmt.Fprintf(&passed, "- passed: %s\n", span(c.Command))
			continue
		}
		failures++
		text := ""
		if room > 0 {
			text = output(c)
		}
		room -= len(text)
		fmt.Fprintf(&failed, "\n## Failed: %s\n\n%s\n%s", span(c.Command), outcome(c), text)
	}
	text := fmt.Sprintf("Of %s, %d failed.\n", count(len(list), "check"), failures) + failed.String()
	if passed.Len() > 0 {
		text += "\n" + passed.String()
	}
	return text
}

func outcome(c Check) string {
	how := oneLine(c.Outcome, 300)
	if how == "" {
		how = "not passed"
	}
	return fmt.Sprintf("Outcome: %s; %d bytes of output.\n", how, size(c))
}

func size(c Check) int64 { return max(c.Bytes, int64(len(c.Head)+len(c.Tail))) }

// output is the beginning and the end of a check's output, with the number of
// bytes between them.
func output(c Check) string {
	const most = maxOutputHead + maxOutputTail
	known := len(c.Head) + len(c.Tail)
	if size(c) == int64(known) && known <= most {
		return quoted("", c.Head+c.Tail, most)
	}
	first, last := c.Head, c.Tail
	if last == "" {
		first, last = first[:known/2], first[known/2:]
	}
	first, _ = head(first, maxOutputHead)
	last = tail(last, maxOutputTail)
	between := size(c) - int64(len(first)+len(last))
	if first != "" && !strings.HasSuffix(first, "\n") {
		first += "\n"
	}
	text := fmt.Sprintf("%s[%d bytes left out]\n%s", first, between, last)
	return Fence("", clean(text))
}
