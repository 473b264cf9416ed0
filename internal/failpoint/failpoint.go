// Package failpoint is test equipment: named places in the program where a test
// can have the process killed, as a power cut would, by SIGKILL and without
// any clean-up. It does nothing unless an environment variable asks for it.
//
//	RATCHET_FAILPOINTS     what to kill at, comma-separated: name=kill, name=kill@3
//	                       (the third time this process gets there) or name=kill%0.1
//	                       (each time with this probability); the name * is every point.
//	                       With stop in the place of kill the process is stopped by SIGSTOP
//	                       until it gets SIGCONT, so that others can be killed meanwhile
//	RATCHET_FAILPOINT_LOG  a file that gets one line, the name, each time a point
//	                       is reached, so that a test can tell that all were
package failpoint

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
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

// rule states when a point kills, or stops: at the nth hit, or, with n zero, with a chance.
type rule struct {
	nth    int
	chance float64
	stop   bool
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
			return nil, fmt.Errorf("RATCHET_FAILPOINTS: %q: want name=kill, name=kill@N or name=kill%%P, or the same with stop", item)
		}
		p.rules[name] = r
	}
	return p, nil
}

func parseRule(text string) (r rule, err error) {
	action, nth, counted := strings.Cut(text, "@")
	action, chance, random := strings.Cut(action, "%")
	switch action {
	case "kill":
	case "stop":
		r.stop = true
	default:
		return r, strconv.ErrSyntax
	}
	switch {
	case counted && random:
		return r, strconv.ErrSyntax
	case counted:
		n, err := strconv.ParseUint(nth, 10, 31)
		if err != nil || n == 0 {
			return r, strconv.ErrRange
		}
		r.nth = int(n)
	case random:
		r.chance, err = strconv.ParseFloat(chance, 64)
		if err != nil || !(r.chance > 0 && r.chance <= 1) {
			return r, strconv.ErrRange
		}
	default:
		r.nth = 1
	}
	return r, nil
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
	if ok && r.holds(p.hits[name]) {
		r.act()
	}
}

func (r rule) act() {
	if !r.stop {
		kill()
	}
	stop()
}

// stop returns after SIGCONT: a signal to oneself may be delivered a moment later.
func stop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		fatal(err)
	}
	<-continued
}

func (r rule) holds(hits int) bool {
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
	for { // select {} would end a program without cgo as a deadlock before the signal arrives
		time.Sleep(math.MaxInt64)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "failpoint:", err)
	os.Exit(2)
}
