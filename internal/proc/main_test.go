package proc_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// plays are the programs that this test binary is when it is run as one: plays[os.Args[1]](os.Args[2:]).
var plays = map[string]func(args []string){
	"play-family":    family,
	"play-sleeper":   func([]string) { time.Sleep(5 * time.Minute) },
	"play-deaf":      deaf,
	"play-fork":      func(args []string) { start(true, "play-deaf", args[0]) },
	"play-parent":    parent,
	"play-environ":   func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
	"play-fds":       descriptors,
	"play-polite":    polite,
	"play-generator": generations,
	"play-descent":   func([]string) { fmt.Print(proc.Supervised(os.Getpid()), proc.Supervised(1)) },
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && plays[os.Args[1]] != nil {
		plays[os.Args[1]](os.Args[2:])
		syscall.Exit(0) // os.Exit would wait a second under the race detector
	}
	os.Exit(m.Run())
}

// self is the command line that runs this test binary as a play.
func self(args ...string) []string { return append([]string{os.Args[0]}, args...) }

// start starts a play that shares our output, in a session of its own or not, and waits until it has called ready or ended.
func start(setsid bool, args ...string) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	wait, isReady, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd.ExtraFiles = []*os.File{isReady}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	isReady.Close()
	io.Copy(io.Discard, wait)
}

func ready() { os.NewFile(3, "ready").Close() }

// family starts a child, a child that left the session and one that also lost its parent; all hold our output and do not
// listen to SIGTERM. Then it exits (args[1] "exits") or sleeps.
func family(args []string) {
	mark := args[0]
	start(false, "play-deaf", mark)
	start(true, "play-deaf", mark)
	start(true, "play-fork", mark)
	fmt.Println("ready")
	if args[1] != "exits" {
		time.Sleep(5 * time.Minute)
	}
}

func deaf([]string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Println("deaf")
	ready()
	time.Sleep(5 * time.Minute)
}

// polite ends with 7 when asked to.
func polite([]string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	fmt.Println("polite")
	<-asked
	fmt.Println("bye")
	os.Exit(7)
}

// parent runs a family under proc and is there to be killed.
func parent(args []string) {
	proc.Run(background, proc.Command{Argv: self("play-family", args[0], "stays"), Stdout: os.Stdout, Grace: 10 * time.Millisecond})
}

// generations is a daemon that runs away: each one starts the next in a new session and exits.
func generations(args []string) {
	n, _ := strconv.Atoi(args[1])
	if n == 0 {
		return
	}
	next := exec.Command(os.Args[0], "play-generator", args[0], strconv.Itoa(n-1))
	next.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := next.Start(); err != nil {
		panic(err)
	}
}

func descriptors([]string) {
	open, _ := os.ReadDir("/dev/fd")
	for _, fd := range open {
		if target, err := os.Readlink("/dev/fd/" + fd.Name()); err == nil && strings.HasPrefix(target, "pipe:") {
			io.WriteString(os.Stdout, fd.Name()+" ")
		}
	}
}
