package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// compiled is a package and the size of its compiled form in bytes.
type compiled struct {
	path string
	size int64
}

func printSizes(root string) error {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}", "./starter")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the packages of the starter: %w", err)
	}
	var all []compiled
	var sum int64
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		all, sum = append(all, compiled{path, info.Size()}), sum+info.Size()
	}
	slices.SortFunc(all, func(a, b compiled) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.path, b.path)) })
	fmt.Printf("starter: %d packages, %.0f MB compiled\n", len(all), float64(sum)/1e6)
	for _, c := range all[:min(rows, len(all))] {
		fmt.Printf("%8.1f MB  %s\n", float64(c.size)/1e6, c.path)
	}
	return nil
}
