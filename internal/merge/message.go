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

// commitMessage returns the message of the commit for a step: the message of the run's commit, with the goal, who
// approved and merged, and the checks as trailers. A trailer is one line, whatever others have put into its
// value, and no line before the trailers looks like one of Ratchet's.
func commitMessage(in Input, s step, last bool) string {
	text, own := splitMessage(s.message)
	trailers := []string{trailer("Goal", in.Goal)}
	if by := in.ApprovedBy[s.commit]; by != "" {
		trailers = append(trailers, trailer("Approved-by", by))
	}
	trailers = append(trailers, in.mergeTrailers()...)
	trailers = append(trailers, own...)
	if last {
		trailers = append(trailers, headTrailer+": "+string(in.Head))
	}
	return text + "\n\n" + strings.Join(trailers, "\n") + "\n"
}

// squashMessage returns the message of the one commit for all steps. Its subject is the subject of the only
// step, or the goal.
func squashMessage(in Input, steps []step) string {
	subject, body := run.OneLine(in.Goal, "Merge run "+in.Name.Shown(in.RunID)), ""
	var own, approvers []string
	for _, s := range steps {
		text, patch := splitMessage(s.message)
		first, _, _ := strings.Cut(text, "\n")
		if len(steps) == 1 {
			subject = first
		}
		body += "- " + first + "\n"
		if by := in.ApprovedBy[s.commit]; by != "" && !slices.Contains(approvers, by) {
			approvers = append(approvers, by)
		}
		for _, line := range patch {
			if !slices.Contains(own, line) {
				own = append(own, line)
			}
		}
	}
	if len(steps) == 1 {
		body = ""
	}
	trailers := []string{trailer("Goal", in.Goal)}
	for _, by := range approvers {
		trailers = append(trailers, trailer("Approved-by", by))
	}
	trailers = append(append(trailers, in.mergeTrailers()...), own...)
	trailers = append(trailers, headTrailer+": "+string(in.Head))
	return strings.TrimRight(subject+"\n\n"+body, "\n") + "\n\n" + strings.Join(trailers, "\n") + "\n"
}

// mergeTrailers returns the trailers that all commits of a merge have.
func (in Input) mergeTrailers() (trailers []string) {
	for _, check := range in.Checks {
		trailers = append(trailers, trailer("Checked-with", check))
	}
	if in.By != "" {
		trailers = append(trailers, trailer("Merged-by", in.By))
	}
	if in.Name != "" {
		trailers = append(trailers, trailer("Ratchet-Name", string(in.Name)))
	}
	return trailers
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
