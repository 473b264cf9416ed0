// Command share runs `go test ./...` and fails when a package takes more CPU time than its share of the tier (docs/testing.md).
//
//	share [-shares FILE] DIR [ARGUMENT ...]
//
// Without a file it only prints what each package took. The arguments go to go test. CPU time is user and system time of the test program and of all that it started. The file
// has a line for each package that may take more than the others: seconds, a blank, and the package's directory.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// whole is the CPU time of the tier, in seconds, with the linking of the test programs.
	whole = 600
	// A busy machine, whose cores are shared, may add to a package's share and to the whole: half as much again was seen.
	tolerance      = 2
	toleranceWhole = 1.5
	// small is the share of a package that the file does not name, in seconds.
	small = 5
)

func main() {
	if log := os.Getenv(logVariable); log != "" {
		os.Exit(measure(log, os.Args[1:]))
	}
	shares := flag.String("shares", "", "file with the shares of packages")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "share: want the directory of the module")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *shares, flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		os.Exit(1)
	}
}

// use is the CPU time of the tests of a package.
type use struct {
	dir string // relative to the module
	cpu time.Duration
}

func run(dir, file string, args []string) error {
	var shares map[string]float64 // nil: only the tests judge
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		if shares, err = readShares(f); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "share-")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	defer log.Close()
	// The tier is measured with a warm build cache: this compiles all packages and tests.
	for from, args := range map[string][]string{".": {"-test", "./..."}, "internal/engine/server": {"-deps", "."}} {
		warm := exec.Command("go", append([]string{"list", "-export"}, args...)...)
		warm.Dir, warm.Stderr = filepath.Join(dir, from), os.Stderr
		if err := warm.Run(); err != nil {
			return fmt.Errorf("compile: %w", err)
		}
	}
	began := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-count=1", "-exec", self, "./..."}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), logVariable+"="+log.Name())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	failed := cmd.Run()
	root, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	uses, err := readUses(log, root)
	if err != nil {
		return err
	}
	state := cmd.ProcessState
	tests := time.Duration(0)
	for _, u := range uses {
		tests += u.cpu
	}
	all := state.UserTime() + state.SystemTime()
	for _, u := range uses[:min(len(uses), 25)] {
		fmt.Printf("%6.1f s  %s\n", u.cpu.Seconds(), u.dir)
	}
	fmt.Printf("%d packages: %.0f CPU-s, of them %.0f in tests, of at most %d; %.0f s\n", len(uses), all.Seconds(), tests.Seconds(), whole, time.Since(began).Seconds())
	if failed != nil {
		return failed
	}
	if shares == nil {
		return nil
	}
	return errors.Join(judge(uses, shares), judgeWhole(all))
}

// readShares returns the shares in seconds by directory.
func readShares(r io.Reader) (map[string]float64, error) {
	shares := map[string]float64{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		var seconds float64
		var dir string
		if n, _ := fmt.Sscan(line, &seconds, &dir); n != 2 || seconds <= 0 || shares[dir] != 0 {
			return nil, fmt.Errorf("%q: want seconds and a package, once", line)
		}
		shares[dir] = seconds
	}
	return shares, nil
}

// readUses returns what measure has noted, the largest first.
func readUses(r io.Reader, root string) (uses []use, err error) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var cpu time.Duration
		number, dir, _ := strings.Cut(lines.Text(), " ")
		if cpu, err = time.ParseDuration(number); err == nil {
			dir, err = filepath.Rel(root, dir)
		}
		if err != nil {
			return nil, err
		}
		uses = append(uses, use{dir, cpu})
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(b.cpu, a.cpu) })
	return uses, nil
}

// judge names the packages above their share.
func judge(uses []use, shares map[string]float64) error {
	var over []error
	for _, u := range uses {
		if share := cmp.Or(shares[u.dir], small); u.cpu.Seconds() > share*tolerance {
			over = append(over, fmt.Errorf("%s took %.1f CPU-s, its share is %v: move its slowest tests to another tier with need.Suite, or change .ci/shares.txt", u.dir, u.cpu.Seconds(), share))
		}
	}
	return errors.Join(over...)
}

func judgeWhole(all time.Duration) error {
	if all.Seconds() > whole*toleranceWhole {
		return fmt.Errorf("all packages took %.0f CPU-s, want at most %d on an idle machine", all.Seconds(), whole)
	}
	return nil
}
