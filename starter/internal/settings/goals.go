package settings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
)

// Goal is a saved goal. A file of a repository gives its text alone, and decides nothing else of a run.
type Goal struct {
	Name string // without the @
	Text string // with its parameters
	Path string // of the file
	// Committed reports that the last commit of the repository has it. It is not the user's own.
	Committed bool
}

// GoalsDir is the directory of the saved goals of a repository. The user's own are in goals, beside config.toml.
const GoalsDir = ".ratchet/goals"

// goalName is the form of a name. It leads to no other directory.
var goalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// SavedName returns the name of a saved goal that the text of a goal is; ok is false for another text.
func SavedName(text string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(text, "@"); ok && goalName.MatchString(name) {
		return name, true
	}
	return "", false
}

// GoalPlace says where saved goals are.
type GoalPlace struct {
	User         string // path of the user's file of settings; empty: unknown
	Root, Prefix string // as of ReadCommitted; an empty Root: no repository
	Commit       string
}

// FindGoal returns the saved goal of the name: the user's own, or else the repository's.
func (p GoalPlace) FindGoal(ctx context.Context, name string) (Goal, error) {
	g, err := p.readOwn(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return g, err
	}
	if p.Root != "" {
		at := path.Join(p.Prefix, GoalsDir, name+goalEnd)
		b, there, err := readBlob(ctx, git.Repo{Dir: p.Root}, p.Commit, at)
		if there || err != nil {
			return Goal{name, string(b), at, true}, err
		}
	}
	return Goal{}, fmt.Errorf("no saved goal has the name @%s: looked for %s and for %s in the last commit; `starter run --goals` lists them",
		name, display.Line(p.own(name)), path.Join(p.Prefix, GoalsDir, name+goalEnd))
}

// goalEnd is the end of the name of a goal's file.
const goalEnd = ".md"

func (p GoalPlace) own(name string) string {
	return filepath.Join(filepath.Dir(p.User), "goals", name+goalEnd)
}

// readOwn reads a goal of the user's.
func (p GoalPlace) readOwn(name string) (Goal, error) {
	if p.User == "" {
		return Goal{}, fs.ErrNotExist
	}
	at := p.own(name)
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Goal{}, fmt.Errorf("saved goal: %w", err)
	}
	defer f.Close()
	if err := own.Check(f); err != nil {
		return Goal{}, fmt.Errorf("saved goal: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = &lineError{path: at, text: fmt.Sprintf("more than %d bytes", maxFile)}
	}
	return Goal{Name: name, Text: string(b), Path: at}, err
}

// maxGoals bounds the goals of a list.
const maxGoals = 200

// ListGoals returns the saved goals by their names. A file that cannot be read is left out.
func (p GoalPlace) ListGoals(ctx context.Context) (list []Goal) {
	names := map[string]bool{}
	if p.User != "" {
		entries, _ := os.ReadDir(filepath.Dir(p.own("x")))
		for _, e := range entries {
			addGoalName(names, e.Name())
		}
	}
	if p.Root != "" {
		out, _ := git.Repo{Dir: p.Root}.Run(ctx, "ls-tree", "-z", "--name-only", "--full-tree", p.Commit, "--", path.Join(p.Prefix, GoalsDir)+"/")
		for at := range strings.SplitSeq(string(out), "\x00") {
			addGoalName(names, path.Base(at))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if g, err := p.FindGoal(ctx, name); err == nil && len(list) < maxGoals {
			list = append(list, g)
		}
	}
	return list
}

func addGoalName(names map[string]bool, file string) {
	if name, ok := strings.CutSuffix(file, goalEnd); ok && goalName.MatchString(name) {
		names[name] = true
	}
}

var goalParameter = regexp.MustCompile(`\{\{ *([A-Za-z][A-Za-z0-9_-]{0,39}) *\}\}`)

// Parameters returns the names of the parameters, in the order of the text. One is written as {{name}}.
func (g Goal) Parameters() (names []string) {
	for _, m := range goalParameter.FindAllStringSubmatch(g.Text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// Fill returns the text with the values of the parameters. A value is taken as it is: what looks like a parameter in it is
// none.
func (g Goal) Fill(values map[string]string) (string, error) {
	wanted := g.Parameters()
	var missing []string
	for _, name := range wanted {
		if _, ok := values[name]; !ok {
			missing = append(missing, "--set "+name+"=...")
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("@%s needs %s", g.Name, strings.Join(missing, " "))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(wanted, name) {
			has := "it has none"
			if len(wanted) > 0 {
				has = "it has " + strings.Join(wanted, ", ")
			}
			return "", fmt.Errorf("@%s has no parameter %.60q: %s", g.Name, name, has)
		}
	}
	return goalParameter.ReplaceAllStringFunc(g.Text, func(m string) string { return values[goalParameter.FindStringSubmatch(m)[1]] }), nil
}
