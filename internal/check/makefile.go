package check

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	makeInclude = regexp.MustCompile(`^ *[-s]?include[ \t]+(.*)$`)
	makeRule    = regexp.MustCompile(`^([^\s:=#][^:=#]*?)\s*::?([^=;]*)(?:;(.*))?$`)
)

// isMakefile reports whether name is the name of a makefile.
func isMakefile(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, "makefile") || strings.HasPrefix(base, "makefile.") || path.Ext(base) == ".mk"
}

// recipe holds the needs and commands of the targets of one rule.
type recipe struct {
	needs    []string
	forced   bool // by a need that is never there
	commands strings.Builder
	done     bool // the tracer has followed it
}

// makeRules holds the rules of a makefile and of the makefiles that it includes.
type makeRules struct {
	*tracer
	from  []string // the directories to which its names are relative
	rules map[string][]*recipe
	first string // the target that is made when none is asked for
	read  []string
}

// followMakefile follows the commands of the targets among args, or of the first target if there is none.
func (t *tracer) followMakefile(name, text string, args, from []string) {
	m := &makeRules{tracer: t, from: from, rules: make(map[string][]*recipe)}
	m.addMakefile(name, text)
	targets := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return m.rules[a] == nil })
	if len(targets) == 0 {
		targets = []string{m.first}
	}
	for target := range m.rules {
		if strings.ContainsAny(target, "%$") { // the name may be any
			targets = append(targets, target)
		}
	}
	seen, phony := map[string]bool{}, m.phonyTargets()
	for ; len(targets) > 0; targets = targets[1:] {
		if seen[targets[0]] {
			continue
		}
		if t.work++; t.work > maxWork {
			return
		}
		seen[targets[0]] = true
		if !phony.has(targets[0]) {
			m.addShadow(name, targets[0])
		}
		for _, r := range m.rules[targets[0]] {
			if !r.done {
				r.done = true
				targets = append(targets, r.needs...)
				t.followScript(r.commands.String(), from)
			}
		}
	}
}

// phonies are the targets that are made whether there is a file of their name or not.
type phonies struct {
	all  bool // by a variable: it may be any
	some map[string]bool
}

func (p phonies) has(target string) bool { return p.all || p.some[target] }

func (m *makeRules) phonyTargets() phonies {
	p := phonies{some: map[string]bool{}}
	for _, r := range m.rules[".PHONY"] {
		for _, need := range r.needs {
			p.some[need] = true
			p.all = p.all || strings.Contains(need, "$")
		}
	}
	return p
}

// addShadow adds the name of a target that is not phony. If the name is a file or a directory, make takes the target for
// made and runs nothing, unless it is forced.
func (m *makeRules) addShadow(by, target string) {
	if m.rules[target] == nil || slices.ContainsFunc(m.rules[target], func(r *recipe) bool { return r.forced }) {
		return
	}
	defer func(why string) { m.why = why }(m.why)
	m.why = "a target of " + by + " that is skipped when it is there"
	m.eachPath(m.from, target, func(name string) {
		m.tracer.addSource(name)
		m.tracer.addSource(name + "/")
	})
}

// addMakefile reads the rules of a makefile.
func (m *makeRules) addMakefile(name, text string) {
	if slices.Contains(m.read, name) {
		return
	}
	m.read = append(m.read, name)
	open := &recipe{} // takes the lines before the first rule, which belong to no target
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if command, ok := strings.CutPrefix(line, "\t"); ok {
			open.commands.WriteString(command + "\n")
			continue
		}
		if of := makeInclude.FindStringSubmatch(line); of != nil {
			m.includeFiles(name, strings.Fields(of[1]))
		} else if of := makeRule.FindStringSubmatch(line); of != nil {
			open = m.openRule(strings.Fields(of[1]), strings.Fields(of[2]), of[3])
		}
	}
}

// openRule begins the recipe of targets.
func (m *makeRules) openRule(targets, needs []string, command string) *recipe {
	r := &recipe{needs: needs, forced: slices.Contains(needs, "FORCE")}
	r.commands.WriteString(command + "\n")
	for _, target := range targets {
		if m.first == "" && target[0] != '.' {
			m.first = target
		}
		if of := m.rules[target]; len(of) == 0 || of[len(of)-1] != r {
			m.rules[target] = append(of, r)
		}
	}
	return r
}

// includeFiles adds the makefiles that another one includes, and reads them.
func (m *makeRules) includeFiles(by string, names []string) {
	defer func(why string) { m.why = why }(m.why)
	m.why = "included by " + by
	for _, name := range names {
		m.eachPath(m.from, name, func(name string) {
			m.tracer.addSource(name)
			if text, ok := m.readText(name); ok {
				m.addMakefile(name, text)
			}
		})
	}
}
