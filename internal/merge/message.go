package merge

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// headTrailer is the trailer by which a run's head is known in the last commit of its merge.
const headTrailer = "Ratchet-Head"

// maxBody bounds the bytes that are taken from the message of a run's commit.
const maxBody = 16 << 10

// messageOf returns the message of the commit for a step: the message of the run's commit, or the subjects of all that it
// joins, with the goal, who wrote, approved and merged, and the checks as trailers. Each trailer is one line, also if its value
// had several, and no line before the trailers looks like one of Ratchet's.
func (in Input) messageOf(s step) string {
	text, steps := s.text, []step{s}
	if len(s.joins) > 1 {
		steps = s.joins
		text = run.OneLine(in.Goal, "Merge run "+in.Name.Shown(in.RunID)) + "\n"
		for _, one := range steps {
			subject, _, _ := strings.Cut(one.text, "\n")
			text += "\n- " + subject
		}
	}
	trailers := []string{trailer("Goal", in.Goal)}
	add := func(line string) {
		if !slices.Contains(trailers, line) {
			trailers = append(trailers, line)
		}
	}
	for _, one := range steps {
		if by := in.WrittenBy[one.of]; by != "" {
			add(trailer("Written-by", by))
		}
	}
	for _, one := range steps {
		if by := in.ApprovedBy[one.of]; by != "" {
			add(trailer("Approved-by", by))
		}
	}
	for _, check := range in.Checks {
		add(trailer("Checked-with", check))
	}
	if in.By != "" {
		add(trailer("Merged-by", in.By))
	}
	if in.Name != "" {
		add(trailer("Ratchet-Name", string(in.Name)))
	}
	for _, one := range steps {
		for _, line := range one.own {
			add(line)
		}
	}
	if s.of == in.Head {
		add(headTrailer + ": " + string(in.Head))
	}
	return text + "\n\n" + strings.Join(trailers, "\n") + "\n"
}

func trailer(key, value string) string { return key + ": " + run.OneLine(value, "none") }

var ownTrailer = regexp.MustCompile(`^Ratchet-(?:Run|Iteration|Patch): [A-Za-z0-9_-]+$`)

// runOf returns the run that a commit's own trailers name; empty: they name none.
func runOf(own []string) run.ID {
	for _, line := range own {
		if id, ok := strings.CutPrefix(line, "Ratchet-Run: "); ok {
			return run.ID(id)
		}
	}
	return ""
}

// splitMessage returns the text of a run's commit, and the trailers by which the commit is known. In the text no
// line looks like one of them.
func splitMessage(message string) (text string, own []string) {
	message = strings.TrimSpace(message[:min(len(message), maxBody)])
	at := strings.LastIndex(message, "\n\n")
	for line := range strings.Lines(message[at+1:]) {
		if line = strings.TrimSpace(line); ownTrailer.MatchString(line) {
			own = append(own, line)
		}
	}
	if at >= 0 {
		message = message[:at]
	}
	lines := strings.Split(strings.TrimSpace(message), "\n")
	for i, line := range lines {
		if i > 0 && strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "ratchet-") {
			lines[i] = "> " + line
		}
	}
	lines[0] = run.OneLine(lines[0], "Change without a summary")
	return strings.Join(lines, "\n"), own
}
