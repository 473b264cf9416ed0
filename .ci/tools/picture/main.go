// Program picture makes the picture of the README: it runs the demo at a terminal, says yes to its first
// patch and to the kill, and draws the lines from there to what the kill has cost, as an SVG that plays once
// and is whole without playing.
//
//	cd .ci/tools && go run ./picture -o ../../docs/kill.svg ../..
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/pty"
)

const (
	columns = 92
	rows    = 40
	maxSize = 100_000 // bytes of the picture
)

// The picture begins with the first line and ends with the second.
const (
	firstLine = "Apply this patch?"
	lastLine  = "in attempt "
)

// typed are the questions of the demo and their answers, in their order.
var typed = []struct{ question, answer string }{{"Apply this patch?", "y\n"}, {"Kill them?", "k\n"}, {"Apply this patch?", "y\n"}}

// thinking is the time that a person takes to answer.
const thinking = 600 * time.Millisecond

func main() {
	out := flag.String("o", "kill.svg", "`file` to write")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: picture [-o file] <root of the repository>")
		os.Exit(2)
	}
	if err := draw(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(root, out string) error {
	dir, err := os.MkdirTemp("", "picture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "starter")
	build := exec.Command("go", "build", "-o", program, "./starter")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the starter: %w", err)
	}
	lines, err := record(program, dir)
	if err != nil {
		return err
	}
	part, err := choose(lines)
	if err != nil {
		return err
	}
	svg := render(part)
	if len(svg) > maxSize {
		return fmt.Errorf("the picture has %d bytes, more than %d", len(svg), maxSize)
	}
	return os.WriteFile(out, svg, 0o644)
}

// record runs the demo in the directory and returns the lines of its screen. It types the answers.
func record(program, dir string) ([]line, error) {
	cmd := exec.Command(program, "demo")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	terminal, err := pty.Start(cmd, columns, rows)
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	s := newScreen(columns)
	begin, next, from := time.Now(), 0, 0
	var shown strings.Builder
	buffer := make([]byte, 32<<10)
	for {
		n, err := terminal.Read(buffer)
		s.write(buffer[:n], time.Since(begin))
		shown.Write(buffer[:n])
		if next < len(typed) {
			if at := strings.Index(shown.String()[from:], typed[next].question); at >= 0 {
				from += at + len(typed[next].question)
				answer := typed[next].answer
				time.AfterFunc(thinking, func() { _, _ = io.WriteString(terminal, answer) })
				next++
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("the demo ended with %w:\n%s", err, shown.String())
	}
	return s.lines, nil
}

// choose returns the lines of the picture, with times from its first line on.
func choose(lines []line) ([]line, error) {
	first, last := -1, -1
	for i, l := range lines {
		switch text := l.text(); {
		case first < 0 && strings.Contains(text, firstLine):
			first = i
		case first >= 0 && strings.Contains(text, lastLine):
			last = i
		}
		if last >= 0 {
			return shorten(lines[first : last+1]), nil
		}
	}
	return nil, fmt.Errorf("the demo has shown no %q before %q", firstLine, lastLine)
}
