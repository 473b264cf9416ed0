package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// asPi, set to the name of a ledger, makes the test binary pi in its RPC mode.
// Pi's own variables reach it through the worker; the worker's do not.
//
// It goes on with whatever session it is told to, notes in the ledger that it
// has started and each prompt that it gets, and answers with the prompt's first
// word. A word until=NAME lets the turn last until that file lies beside the
// ledger. Two of them at once on one session note that, too.
const asPi = "PI_TEST_LEDGER"

// Lines of the ledger are one of these, the session, and the first word of the
// prompt.
const (
	startedLine  = "start"
	promptLine   = "prompt"
	togetherLine = "together"
)

func playPi(ledger string) {
	p := &fakePi{ledger: ledger, session: os.Args[slices.Index(os.Args, "--session-id")+1]}
	p.note(startedLine, "")
	alone := p.claim()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var f struct{ ID, Type, Message string }
		if json.Unmarshal(lines.Bytes(), &f) == nil {
			p.take(f.ID, f.Type, f.Message)
		}
	}
	alone.Close()
	syscall.Exit(0) // os.Exit would wait a second under the race detector
}

type fakePi struct {
	ledger, session string

	mu      sync.Mutex
	aborted chan struct{} // closed to end the turn; nil between turns
}

// note adds a line to the ledger, which several processes write.
func (p *fakePi) note(what, word string) {
	f, err := os.OpenFile(p.ledger, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %s %s\n", what, p.session, word)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
}

// claim holds a lock on the session as long as this process lives.
func (p *fakePi) claim() *os.File {
	f, err := os.OpenFile(p.ledger+"."+p.session, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		p.note(togetherLine, "")
	}
	return f
}

func (p *fakePi) take(id, command, message string) {
	data := map[string]any{}
	switch command {
	case "get_state":
		data = map[string]any{"sessionId": p.session, "messageCount": 1, "isStreaming": false, "model": map[string]any{"id": "m", "provider": "p"}}
	case "prompt":
		p.note(promptLine, strings.Fields(message)[0])
	case "abort":
		p.abort()
	}
	p.say(map[string]any{"id": id, "type": "response", "command": command, "success": true, "data": data})
	if command == "prompt" {
		p.say(map[string]any{"type": "agent_start"})
		p.begin(message)
	}
}

// begin starts a turn.
func (p *fakePi) begin(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aborted = make(chan struct{})
	go p.turn(message, p.aborted)
}

func (p *fakePi) abort() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted != nil {
		close(p.aborted)
		p.aborted = nil
	}
}

func (p *fakePi) turn(message string, aborted <-chan struct{}) {
	words := strings.Fields(message)
	stop := "stop"
	for _, word := range words {
		if name, ok := strings.CutPrefix(word, "until="); ok && !p.waits(name, aborted) {
			stop = "aborted"
		}
	}
	p.mu.Lock()
	p.aborted = nil
	p.mu.Unlock()
	p.say(map[string]any{"type": "message_end", "message": map[string]any{"role": "assistant", "content": words[0], "stopReason": stop}})
	p.say(map[string]any{"type": "agent_settled"})
}

// waits waits for a file; false when the turn is aborted first.
func (p *fakePi) waits(name string, aborted <-chan struct{}) bool {
	for {
		_, err := os.Lstat(filepath.Join(filepath.Dir(p.ledger), name))
		if !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		select {
		case <-aborted:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// say writes a frame; a print is one write.
func (p *fakePi) say(frame map[string]any) {
	line, err := json.Marshal(frame)
	if err != nil {
		syscall.Exit(1)
	}
	fmt.Printf("%s\n", line)
}
