// Package toolchain finds what the tools of a check need of this machine beside the system's own
// directories: a toolchain that the user has installed, and the user's caches, so that a check builds
// offline. It names directories and changes none.
package toolchain

import (
	"path"
	"regexp"
	"slices"
)

// Tool is a kind of tool.
type Tool string

// The tools.
const (
	Go     Tool = "go"
	Node   Tool = "node"
	Python Tool = "python"
	Rust   Tool = "rust"
	Java   Tool = "java"
)

// traits say by what a tool is known: the programs that a command names, and the files at the top of
// a repository that uses it.
type traits struct {
	tool            Tool
	programs, files []string
}

var known = []traits{
	{Go, []string{"go", "gofmt", "gotestsum", "golangci-lint", "staticcheck"}, []string{"go.mod", "go.work"}},
	{Node, []string{"npm", "npx", "node", "yarn", "pnpm"}, []string{"package.json"}},
	{Python, []string{"python", "python3", "pip", "pip3", "pytest", "py.test", "tox", "uv"}, []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini"}},
	{Rust, []string{"cargo", "rustc"}, []string{"Cargo.toml"}},
	{Java, []string{"mvn", "mvnw", "gradle", "gradlew"}, []string{"pom.xml", "mvnw", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew"}},
}

var word = regexp.MustCompile(`[A-Za-z0-9_./+-]+`)

// Named returns the tools whose programs a command names; none for a command such as make, which
// starts tools that only the repository names.
func Named(command string) []Tool {
	var tools []Tool
	for _, w := range word.FindAllString(command, -1) {
		for _, k := range known {
			if slices.Contains(k.programs, path.Base(w)) && !slices.Contains(tools, k.tool) {
				tools = append(tools, k.tool)
			}
		}
	}
	return tools
}

// Marked returns the tools that a repository uses, by the names of the files at its top.
func Marked(files []string) []Tool {
	var tools []Tool
	for _, k := range known {
		if slices.ContainsFunc(k.files, func(name string) bool { return slices.Contains(files, name) }) {
			tools = append(tools, k.tool)
		}
	}
	return tools
}
