package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// action is a step of a build, as go build -debug-actiongraph writes it.
type action struct {
	ID      int
	Mode    string
	Package string
	Deps    []int
	CmdUser time.Duration
}

// graph holds the actions of a build by their ids.
type graph []action

func readGraph(path string) (graph, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var g graph
	if err := json.Unmarshal(b, &g); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	slices.SortFunc(g, func(a, b action) int { return cmp.Compare(a.ID, b.ID) })
	for i, a := range g {
		if a.ID != i {
			return nil, fmt.Errorf("read %s: action %d has the place %d", path, a.ID, i)
		}
	}
	return g, nil
}

// links returns the actions that link a program, in the order of the command line.
func (g graph) links() []action {
	return slices.Collect(func(yield func(action) bool) {
		for _, a := range g {
			if a.Mode == "link" && !yield(a) {
				return
			}
		}
	})
}

// reach returns for each action that the program needs the one that first asked for it, searched in breadth.
func (g graph) reach(program action) map[int]int {
	asked := map[int]int{program.ID: program.ID}
	for next := []int{program.ID}; len(next) > 0; next = next[1:] {
		for _, dep := range g.ordered(next[0]) {
			if _, known := asked[dep]; !known {
				asked[dep] = next[0]
				next = append(next, dep)
			}
		}
	}
	return asked
}

// ordered returns what an action needs in order to say why: a link needs its main package, and that its imports.
func (g graph) ordered(id int) []int {
	a := g[id]
	return slices.DeleteFunc(slices.Clone(a.Deps), func(dep int) bool {
		return g[dep].Mode != "build" || a.Mode == "link" && g[dep].Package != a.Package
	})
}

// printProgram prints the costs of a program and its heaviest packages.
func (g graph) printProgram(name string, program action, size int64) {
	asked := g.reach(program)
	var sum time.Duration
	var packages []action
	for id := range asked {
		sum += g[id].CmdUser
		if g[id].Mode == "build" || g[id].Mode == "link" {
			packages = append(packages, g[id])
		}
	}
	slices.SortFunc(packages, func(a, b action) int {
		return cmp.Or(cmp.Compare(b.CmdUser, a.CmdUser), cmp.Compare(a.Package, b.Package))
	})
	fmt.Printf("%s: %.1f CPU-seconds for %d packages, %.1f MB\n", name, sum.Seconds(), len(packages)-1, float64(size)/1e6)
	for _, a := range packages[:min(rows, len(packages))] {
		fmt.Printf("%8.1f  %-52s %s\n", a.CmdUser.Seconds(), a.name(), g.why(asked, a))
	}
	fmt.Println()
}

func (a action) name() string {
	if a.Mode == "link" {
		return "(link)"
	}
	return a.Package
}

// why returns who asked for a package first.
func (g graph) why(asked map[int]int, a action) string {
	if by := g[asked[a.ID]]; by.Package != a.Package {
		return "for " + by.Package
	}
	return ""
}
