package agenttest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Scripted is an agent's program that plays a script, as a test sees it: the test's own binary, started again.
type Scripted struct {
	Dir        string // of the script, and of what the program was given
	Work, Home string
}

// NewScripted returns a program that plays the script, which is kept as JSON.
func NewScripted(t testing.TB, script any) Scripted {
	t.Helper()
	s := Scripted{Dir: t.TempDir(), Work: t.TempDir(), Home: t.TempDir()}
	s.Play(t, script)
	return s
}

// Play gives the program its script.
func (s Scripted) Play(t testing.TB, script any) {
	t.Helper()
	text, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	s.Put(t, "script", string(text))
}

// Put writes a file into the script's directory.
func (s Scripted) Put(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Program returns the path of the program.
func (s Scripted) Program() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return self
}

// Environ returns the variables that let the test's binary be the program: the one that names the script's directory to
// it, and more.
func (s Scripted) Environ(variable string, more ...string) []string {
	return append([]string{"PATH=/usr/bin:/bin", "HOME=" + s.Home, variable + "=" + s.Dir, "GORACE=atexit_sleep_ms=0"}, more...)
}

// Options adds to o what every session needs.
func (s Scripted) Options(o agent.Options) agent.Options {
	o.Dir = cmp.Or(o.Dir, s.Work)
	o.Sandbox = cmp.Or(o.Sandbox, agent.WorkspaceWrite)
	return o
}

// Given returns the lines that the program has read.
func (s Scripted) Given(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, "given"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// Args returns the arguments of the program.
func (s Scripted) Args(t testing.TB) []string { return s.readList(t, "argv") }

// Variables returns the environment of the program.
func (s Scripted) Variables(t testing.TB) []string { return s.readList(t, "env") }

func (s Scripted) readList(t testing.TB, name string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Player is the program of a Scripted, in its own process. What goes wrong there ends it with code 99.
type Player struct {
	Dir   string
	ID    string // of the session: what @ID@ stands for
	in    *bufio.Reader
	given *os.File
}

// NewPlayer reads the script of a directory into script, a pointer.
func NewPlayer(dir string, script any) *Player {
	text, err := os.ReadFile(filepath.Join(dir, "script"))
	if err != nil || json.Unmarshal(text, script) != nil {
		syscall.Exit(99)
	}
	return &Player{Dir: dir, in: bufio.NewReader(os.Stdin)}
}

// Begin keeps the arguments and variables for the test, and from now on what is read.
func (p *Player) Begin() {
	for name, list := range map[string][]string{"argv": os.Args[1:], "env": os.Environ()} {
		text, _ := json.Marshal(list)
		if os.WriteFile(filepath.Join(p.Dir, name), text, 0o600) != nil {
			syscall.Exit(99)
		}
	}
	var err error
	if p.given, err = os.OpenFile(filepath.Join(p.Dir, "given"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		syscall.Exit(99)
	}
}

// Await reads a line of the adapter.
func (p *Player) Await() (string, bool) {
	line, err := p.in.ReadString('\n')
	if err != nil {
		return "", false
	}
	p.given.WriteString(line)
	return line, true
}

// Say prints a line.
func (p *Player) Say(line string) { fmt.Println(strings.ReplaceAll(line, "@ID@", p.ID)) }

// Exit ends the program with a text on standard error.
func (p *Player) Exit(code int, text string) {
	fmt.Fprintln(os.Stderr, text)
	syscall.Exit(code)
}

// Act plays a line of a script. A line that begins with a brace is said; the others are
//
//	await         read a line of the adapter
//	exit N TEXT   end with that code, TEXT on standard error
//	die           end by a signal
//	until FILE    wait for a file in the script's directory
//	flood         say a line that is too long for anybody
func (p *Player) Act(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "await":
		if _, ok := p.Await(); !ok {
			syscall.Exit(0)
		}
	case "exit":
		var code int
		fmt.Sscan(rest, &code)
		_, text, _ := strings.Cut(rest, " ")
		p.Exit(code, text)
	case "die":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	case "until":
		for _, err := os.Lstat(filepath.Join(p.Dir, rest)); err != nil; _, err = os.Lstat(filepath.Join(p.Dir, rest)) {
			time.Sleep(time.Millisecond)
		}
	case "flood":
		for part := make([]byte, 1<<20); ; {
			if _, err := os.Stdout.Write(part); err != nil {
				syscall.Exit(0)
			}
		}
	default:
		p.Say(line)
	}
}

// Until reads events to the first that is an E and returns it with those before it.
func Until[E agent.Event](t testing.TB, s agent.Session) (E, []agent.Event) {
	t.Helper()
	l := Watch(t, s)
	found := Next[E](l)
	return found, l.events[:len(l.events)-1]
}

// Turn sends a message and returns the turn with the events before its end.
func Turn(t testing.TB, s agent.Session, text string) (agent.Turn, []agent.Event) {
	t.Helper()
	l := Watch(t, s)
	turn, events := l.Turn(text)
	return turn, events[:len(events)-1]
}
