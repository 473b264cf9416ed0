package egress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Traffic counts the targets that a box has reached, and the refused ones. The texts of refusals come from programs of the
// box: they are cut, and hold only printable ASCII.
type Traffic struct {
	Reached map[string]int `json:"reached,omitempty"` // connections by target
	Failed  map[string]int `json:"failed,omitempty"`  // attempts that came to no connection, by target
	Refused map[string]int `json:"refused,omitempty"` // by target and reason
	// MoreRefused counts the refusals of other targets, after the first few dozens.
	MoreRefused int `json:"moreRefused,omitempty"`
}

// The bounds of the refused targets that are kept.
const (
	maxRefused     = 30
	maxRefusedText = 120
)

// String returns one line, such as "reached proxy.golang.org:443, 12 connections; refused 2".
func (t Traffic) String() string {
	var parts []string
	for _, target := range slices.Sorted(maps.Keys(t.Reached)) {
		parts = append(parts, fmt.Sprintf("reached %s, %s", target, display.Count(t.Reached[target], "connection", "connections")))
	}
	if parts == nil {
		parts = []string{"reached nothing"}
	}
	for _, target := range slices.Sorted(maps.Keys(t.Failed)) {
		parts = append(parts, fmt.Sprintf("failed to reach %s %d times", target, t.Failed[target]))
	}
	if n := t.RefusedCount(); n > 0 {
		parts = append(parts, fmt.Sprintf("refused %d", n))
	}
	return strings.Join(parts, "; ")
}

// RefusedCount returns the number of all refusals.
func (t Traffic) RefusedCount() int {
	n := t.MoreRefused
	for _, times := range t.Refused {
		n += times
	}
	return n
}

// add adds the other's counts.
func (t *Traffic) add(other Traffic) {
	addAll(&t.Reached, other.Reached)
	addAll(&t.Failed, other.Failed)
	for what, times := range other.Refused {
		t.refuse(what, times)
	}
	t.MoreRefused += other.MoreRefused
}

// refuse counts refusals, and reports whether there was none of that text before.
func (t *Traffic) refuse(what string, times int) (first bool) {
	_, known := t.Refused[what]
	if !known && len(t.Refused) >= maxRefused {
		t.MoreRefused += times
		return false
	}
	addAll(&t.Refused, map[string]int{what: times})
	return !known
}

func addAll(counts *map[string]int, more map[string]int) {
	if *counts == nil && len(more) > 0 {
		*counts = map[string]int{}
	}
	for what, times := range more {
		(*counts)[what] += times
	}
}

// Traffic returns what has been reached and refused so far.
func (p *Proxy) Traffic() Traffic {
	var t Traffic
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	t.add(p.book.traffic)
	return t
}

// book keeps the counts of a proxy. The zero value is ready.
type book struct {
	tell func(target string) // of Config.Refused

	mu      sync.Mutex
	traffic Traffic
}

// noteReached notes an attempt to connect to a target.
func (b *book) noteReached(target string, connected bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := &b.traffic.Reached
	if !connected {
		counts = &b.traffic.Failed
	}
	addAll(counts, map[string]int{target: 1})
}

// refuse notes a refusal. The target is empty where none was understood.
func (b *book) refuse(target, why string) {
	target = printableText(target)
	b.mu.Lock()
	defer b.mu.Unlock()
	if first := b.traffic.refuse(strings.TrimPrefix(target+": "+why, ": "), 1); first && b.tell != nil && target != "" {
		b.tell(target)
	}
}

// printableText returns a short text of what a program of the box has sent.
func printableText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	if len(text) > maxRefusedText {
		text = text[:maxRefusedText] + "..."
	}
	return text
}
