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

func isMakefile(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, "makefile") || strings.HasPrefix(base, "makefile.") || path.Ext(base) == ".mk"
}

// recipe is what the targets of one rule need and run.
type recipe struct {
	needs    []string
	commands strings.Builder
	done     bool // it was followed
}

// makefile is a makefile with those that it includes.
type makefile struct {
	*tracer
	from  []string // where its names begin
	rules map[string][]*recipe
	first string // the target that is made when none is asked for
	read  []string
}

// makefile follows what the targets among args run, or the first target when
// there is none.
func (t *tracer) makefile(name, text string, args, from []string) {
	m := &makefile{tracer: t, from: from, rules: make(map[string][]*recipe)}
	m.add(name, text)
	targets := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return m.rules[a] == nil })
	if len(targets) == 0 {
		targets = []string{m.first}
	}
	for target := range m.rules {
		if strings.ContainsAny(target, "%$") { // it may be any
			targets = append(targets, target)
		}
	}
	for ; len(targets) > 0; targets = targets[1:] {
		m.shadow(name, targets[0])
		for _, r := range m.rules[targets[0]] {
			if !r.done {
				r.done = true
				targets = append(targets, r.needs...)
				t.lines(r.commands.String(), from)
			}
		}
	}
}

// shadow notes the name of a target: where it is a file or a directory, make
// takes the target for made and runs nothing, unless it is phony.
func (m *makefile) shadow(by, target string) {
	listed := func(need string) bool { return need == target || strings.Contains(need, "$") }
	phony := func(r *recipe) bool { return slices.ContainsFunc(r.needs, listed) }
	forced := func(r *recipe) bool { return slices.Contains(r.needs, "FORCE") }
	if m.rules[target] == nil || slices.ContainsFunc(m.rules[".PHONY"], phony) || slices.ContainsFunc(m.rules[target], forced) {
		return
	}
	defer func(why string) { m.why = why }(m.why)
	m.why = "a target of " + by + " that is skipped when it is there"
	m.each(m.from, target, func(name string) {
		m.tracer.add(name)
		m.tracer.add(name + "/")
	})
}

// add reads the rules of a makefile.
func (m *makefile) add(name, text string) {
	if slices.Contains(m.read, name) {
		return
	}
	m.read = append(m.read, name)
	open := &recipe{} // the lines before the first rule are nobody's
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if command, ok := strings.CutPrefix(line, "\t"); ok {
			open.commands.WriteString(command + "\n")
			continue
		}
		if of := makeInclude.FindStringSubmatch(line); of != nil {
			m.include(name, strings.Fields(of[1]))
		} else if of := makeRule.FindStringSubmatch(line); of != nil {
			open = m.rule(strings.Fields(of[1]), strings.Fields(of[2]), of[3])
		}
	}
}

// rule opens the recipe of targets.
func (m *makefile) rule(targets, needs []string, command string) *recipe {
	r := &recipe{needs: needs}
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

// include notes the makefiles that one includes, and reads them.
func (m *makefile) include(by string, names []string) {
	defer func(why string) { m.why = why }(m.why)
	m.why = "included by " + by
	for _, name := range names {
		m.each(m.from, name, func(name string) {
			m.tracer.add(name)
			if text, ok := m.text(name); ok {
				m.add(name, text)
			}
		})
	}
}
