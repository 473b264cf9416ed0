// Package failpoint is test equipment: named places in the program where a test
// can have the process killed, as a power cut would, by SIGKILL and without
// any clean-up. It does nothing unless an environment variable asks for it.
//
//	RATCHET_FAILPOINTS     what to kill at, comma-separated: name=kill, name=kill@3
//	                       (the third time this process gets there) or name=kill%0.1
//	                       (each time with this probability); the name * is every point
//	RATCHET_FAILPOINT_LOG  a file that gets one line, the name, each time a point
//	                       is reached, so that a test can tell that all were
package failpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Hit marks the point of the program with this name. It does not return where the variables ask for
// a kill: the process is killed.
func Hit(name string) {
	if p := active(); p != nil {
		p.hit(name)
	}
}

// active returns nil when neither variable is set. A malformed variable ends the process: a test
// that kills nothing would prove nothing.
var active = sync.OnceValue(func() *points {
	p, err := parse(os.Getenv("RATCHET_FAILPOINTS"), os.Getenv("RATCHET_FAILPOINT_LOG"))
	if err != nil {
		fatal(err)
	}
	return p
})

// points holds the parsed values of the two variables.
type points struct {
	rules map[string]rule
	log   string

	mu   sync.Mutex
	hits map[string]int
}

// rule states when a point kills: at the nth hit, or, with n zero, with a chance.
type rule struct {
	nth    int
	chance float64
}

func parse(spec, log string) (*points, error) {
	if spec == "" && log == "" {
		return nil, nil
	}
	p := &points{rules: map[string]rule{}, log: log, hits: map[string]int{}}
	for item := range strings.SplitSeq(spec, ",") {
		if item == "" {
			continue
		}
		name, action, _ := strings.Cut(item, "=")
		r, err := parseRule(action)
		if err != nil || name == "" {
			return nil, fmt.Errorf("RATCHET_FAILPOINTS: %q: want name=kill, name=kill@N or name=kill%%P", item)
		}
		p.rules[name] = r
	}
	return p, nil
}

func parseRule(action string) (rule, error) {
	if action == "kill" {
		return rule{nth: 1}, nil
	}
	if n, ok := strings.CutPrefix(action, "kill@"); ok {
		nth, err := strconv.ParseUint(n, 10, 31)
		if err != nil || nth == 0 {
			return rule{}, strconv.ErrRange
		}
		return rule{nth: int(nth)}, nil
	}
	chance, ok := strings.CutPrefix(action, "kill%")
	if !ok {
		return rule{}, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(chance, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return rule{}, strconv.ErrRange
	}
	return rule{chance: f}, nil
}

func (p *points) hit(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits[name]++
	p.record(name)
	r, ok := p.rules[name]
	if !ok {
		r, ok = p.rules["*"]
	}
	if ok && r.kills(p.hits[name]) {
		kill()
	}
}

func (r rule) kills(hits int) bool {
	if r.nth > 0 {
		return hits == r.nth
	}
	return rand.Float64() < r.chance
}

// record appends one line; O_APPEND keeps the lines of several processes whole.
func (p *points) record(name string) {
	if p.log == "" {
		return
	}
	f, err := os.OpenFile(p.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(name + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fatal(err)
	}
}

// kill ends the process at once. It never returns: a signal to oneself may be
// delivered a moment later, and nothing may happen in that moment.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		fatal(err)
	}
	select {}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "failpoint:", err)
	os.Exit(2)
}
