package review

import (
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// nameOf returns the name of a run that people use.
func nameOf(l runs.Listed) string {
	if l.Name != "" {
		return string(l.Name)
	}
	return shortID(l.ID)
}

// shortID returns the part of an id that tells runs of one minute apart.
func shortID(id run.ID) string {
	text := string(id)
	if len(text) == 36 {
		return text[:13]
	}
	return display.Line(text)
}

// statusWords says in words what a run does.
func statusWords(l runs.Listed) string {
	switch l.Status {
	case run.AwaitingApproval:
		return "waiting for approval"
	case run.AwaitingInput:
		return "waiting for an answer"
	case run.Running:
		return review.PhaseWords(l.Phase)
	case run.Created:
		return "starting"
	}
	if l.Outcome != "" {
		return strings.ReplaceAll(l.Outcome, "_", " ")
	}
	return string(l.Status)
}

// safeText returns a text of several lines with every character made visible that deceives a reader.
func safeText(text string) string { return display.Text([]byte(text)) }
