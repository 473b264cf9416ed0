package egress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Traffic is what a box has reached, and what it was refused. Both lists are sorted.
type Traffic struct {
	Reached []Reached `json:"reached,omitempty"`
	Refused []Refused `json:"refused,omitempty"`
	// MoreRefused counts the refusals of other targets, after the first few dozens.
	MoreRefused int `json:"moreRefused,omitempty"`
}

// Reached is the use of one target of the list.
type Reached struct {
	Target      string `json:"target"`
	Connections int    `json:"connections"`
	Failed      int    `json:"failed,omitempty"` // attempts that came to no connection
	// Sent and Received are bytes as the box sees them, bytes of TLS included.
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

// Refused is a target that was asked for and not reached. The text comes from a program of the box:
// it has printable ASCII only, and is cut.
type Refused struct {
	Target string `json:"target,omitempty"` // empty where none was understood
	Why    string `json:"why"`
	Count  int    `json:"count"`
}

// String returns one line, such as "reached proxy.golang.org:443, 12 connections, 3.1 MB; refused 2".
func (t Traffic) String() string {
	var parts []string
	for _, r := range t.Reached {
		part := fmt.Sprintf("reached %s, %s, %s", r.Target, counting(r.Connections, "connection"), size(r.Sent+r.Received))
		if r.Failed > 0 {
			part += fmt.Sprintf(", %d failed", r.Failed)
		}
		parts = append(parts, part)
	}
	if parts == nil {
		parts = []string{"reached nothing"}
	}
	if n := t.RefusedCount(); n > 0 {
		parts = append(parts, fmt.Sprintf("refused %d", n))
	}
	return strings.Join(parts, "; ")
}

// RefusedCount returns the number of all refusals.
func (t Traffic) RefusedCount() int {
	n := t.MoreRefused
	for _, r := range t.Refused {
		n += r.Count
	}
	return n
}

func counting(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func size(bytes int64) string {
	switch {
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	case bytes >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return counting(int(bytes), "byte")
}

// Add returns the traffic of both.
func (t Traffic) Add(other Traffic) Traffic {
	var b book
	for _, one := range []Traffic{t, other} {
		for _, r := range one.Reached {
			b.add(r)
		}
		for _, r := range one.Refused {
			b.refuseTimes(r.Target, r.Why, r.Count)
		}
		b.more += one.MoreRefused
	}
	return b.traffic()
}

// Traffic returns what has been reached and refused so far.
func (p *Proxy) Traffic() Traffic { return p.book.traffic() }

// The bounds of the refused targets that are kept.
const (
	maxRefused     = 30
	maxRefusedText = 120
)

// book keeps the counts of a proxy. The zero value is ready.
type book struct {
	tell func(target string) // of Config.Refused

	mu      sync.Mutex
	uses    map[string]*use
	refused map[Refused]int // by an entry without its count
	more    int
}

// use is the counts of one target.
type use struct {
	connections, failed int // under the lock of the book
	sent, received      atomic.Int64
}

// reach notes an attempt to connect to a target, and returns its counts.
func (b *book) reach(target string, connected bool) *use {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.useOf(target)
	if connected {
		u.connections++
	} else {
		u.failed++
	}
	return u
}

func (b *book) useOf(target string) *use {
	if b.uses == nil {
		b.uses = map[string]*use{}
	}
	if b.uses[target] == nil {
		b.uses[target] = &use{}
	}
	return b.uses[target]
}

func (b *book) add(r Reached) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.useOf(r.Target)
	u.connections += r.Connections
	u.failed += r.Failed
	u.sent.Add(r.Sent)
	u.received.Add(r.Received)
}

func (b *book) refuse(target, why string) { b.refuseTimes(target, why, 1) }

func (b *book) refuseTimes(target, why string, times int) {
	key := Refused{Target: printable(target), Why: why}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refused == nil {
		b.refused = map[Refused]int{}
	}
	if _, known := b.refused[key]; !known && len(b.refused) >= maxRefused {
		b.more += times
		return
	} else if !known && b.tell != nil && key.Target != "" {
		b.tell(key.Target)
	}
	b.refused[key] += times
}

// printable returns a short text of what a program of the box has sent.
func printable(text string) string {
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

func (b *book) traffic() Traffic {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := Traffic{MoreRefused: b.more}
	for _, target := range slices.Sorted(maps.Keys(b.uses)) {
		u := b.uses[target]
		t.Reached = append(t.Reached, Reached{
			Target: target, Connections: u.connections, Failed: u.failed, Sent: u.sent.Load(), Received: u.received.Load(),
		})
	}
	for key, n := range b.refused {
		key.Count = n
		t.Refused = append(t.Refused, key)
	}
	slices.SortFunc(t.Refused, func(a, b Refused) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Why, b.Why))
	})
	return t
}
