// Program coldstart measures what a first build costs: the CPU-seconds of user
// time for the starter, the worker and the engine from an empty build cache, with
// their modules fetched, and the ten packages of each that cost most.
//
//	cd .ci/tools && go run ./coldstart ../..
//
// With -sizes it builds nothing beyond the cache and prints the ten packages
// of the starter with the largest compiled form. Compiling and importing take
// time by it, and it is the same on every machine and with every cache.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// rows is the number of packages that are printed.
const rows = 10

// build is one call of go build.
type build struct {
	dir      string // from the repository's root
	env      []string
	packages []string // of programs
	names    []string // of the programs, in the same order
}

// builds are those that a user's first commands make.
var builds = []build{
	{".", nil, []string{"./starter", "./worker"}, []string{"starter", "worker"}},
	{filepath.Join("internal", "engine", "server"), []string{"GOWORK=off", "CGO_ENABLED=0"}, []string{"."}, []string{"engine"}},
}

func main() {
	sizes := flag.Bool("sizes", false, "print the largest packages of the starter instead")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: coldstart [-sizes] <root of the repository>")
		os.Exit(2)
	}
	act := measure
	if *sizes {
		act = printSizes
	}
	if err := act(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

// measure makes all builds, each from an empty cache.
func measure(root string) error {
	for _, b := range builds {
		if err := b.measure(root); err != nil {
			return fmt.Errorf("build %s: %w", strings.Join(b.names, " and "), err)
		}
	}
	return nil
}

func (b build) measure(root string) (err error) {
	tmp, err := os.MkdirTemp("", "coldstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	record, bin := filepath.Join(tmp, "graph.json"), filepath.Join(tmp, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	args := append([]string{"build", "-buildvcs=false", "-debug-actiongraph=" + record, "-o", bin + string(filepath.Separator)}, b.packages...)
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(root, b.dir)
	cmd.Env = append(append(os.Environ(), "GOCACHE="+filepath.Join(tmp, "cache")), b.env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	g, err := readGraph(record)
	if err != nil {
		return err
	}
	for i, link := range g.links() {
		if i >= len(b.names) {
			return fmt.Errorf("the graph has a program more than %q", b.names)
		}
		info, err := os.Stat(filepath.Join(bin, filepath.Base(link.Package)))
		if err != nil {
			return err
		}
		g.printProgram(b.names[i], link, info.Size())
	}
	return nil
}
