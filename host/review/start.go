package review

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The fields of the form that starts a run.
const (
	goalField     = "goal"
	providerField = "provider"
	setField      = "set:" // prefix of the value of a parameter
)

// maxGoalsOf bounds the repositories whose saved goals are listed.
const maxGoalsOf = 5

// startView is the page that starts a run.
type startView struct {
	shell
	Repositories   []known
	Providers      []string // that a person can choose from
	Goal, Provider string   // as they were typed
	Once           string
	Saved          []savedGoals
	Named          *namedGoal // the saved goal that was chosen; nil: the goal is written
}

// savedGoals are links to the saved goals of a repository.
type savedGoals struct {
	Repository string
	Goals      []choice
}

// namedGoal is a saved goal with a field for each parameter.
type namedGoal struct {
	Name, Text string
	Set        []parameter
}

type parameter struct{ Name, Field, Value string }

// known is a repository that runs have worked on.
type known struct {
	Path, Label string
	Chosen      bool
}

// usualProviders are the agents that have a name.
var usualProviders = []string{"claude", "codex", "pi"}

// serveStart serves the page that starts a run, and its form. A run does what a person's agent does, by a goal in free
// words: that is for the owner of the engine, not for a person who may decide.
func (p *page) serveStart(w http.ResponseWriter, r request) {
	switch {
	case p.commands == nil:
		showError(w, r, http.StatusNotFound, "This page starts no runs: use `starter run` on its host.")
	case !r.Owner:
		showError(w, r, http.StatusForbidden, "Runs are started by the owner of the engine: `starter page` prints a link.")
	case r.Method == http.MethodPost:
		p.startRun(w, r)
	default:
		p.showStart(w, r, "")
	}
}

// knownRepositories returns the repositories of the runs that there are, the one of the newest run first.
func (p *page) knownRepositories(ctx context.Context) ([]string, error) {
	listed, err := runs.ListWithWaits(ctx, p.runs, runs.Filter{Max: maxListed})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(listed, func(a, b runs.Listed) int { return b.Started.Compare(a.Started) })
	var paths []string
	for _, l := range listed {
		if l.Repository != "" && !slices.Contains(paths, l.Repository) {
			paths = append(paths, l.Repository)
		}
	}
	return paths, nil
}

func (p *page) showStart(w http.ResponseWriter, r request, wrong string) {
	paths, err := p.knownRepositories(r.Context())
	if err != nil {
		showLoss(w, r, codeOf(err), err.Error(), r.PostForm.Get(goalField))
		return
	}
	v := startView{shell: r.shell("Start a run"), Providers: usualProviders, Goal: cmp.Or(r.PostForm.Get(goalField), r.URL.Query().Get(goalField)), Provider: r.PostForm.Get(providerField), Once: newOnce()}
	chosen := cmp.Or(r.PostForm.Get(repoField), r.URL.Query().Get(repoField))
	for n, path := range paths {
		v.Repositories = append(v.Repositories, known{path, display.Line(path), path == chosen})
		if n < maxGoalsOf || path == chosen {
			p.addGoals(r.Context(), &v, path, path == chosen, r.PostForm)
		}
	}
	code := http.StatusOK
	if wrong != "" {
		v.Wrong, code = wrong, http.StatusConflict
	}
	_, v.Waits = p.walkFrom(r.Context(), startPath)
	renderPage(w, code, "start", v)
}

// addGoals adds the links to the saved goals of a repository, and of the chosen one the goal that is named. A repository
// that cannot be read has none.
func (p *page) addGoals(ctx context.Context, v *startView, path string, chosen bool, form url.Values) {
	list, _ := p.commands.Goals(ctx, path)
	links := savedGoals{Repository: display.Line(filepath.Base(path))}
	for _, g := range list {
		at := url.Values{repoField: {path}, goalField: {"@" + g.Name}}
		named := chosen && v.Goal == "@"+g.Name
		links.Goals = append(links.Goals, choice{"@" + display.Line(g.Name), startPath + "?" + at.Encode(), named})
		if !named {
			continue
		}
		v.Named = &namedGoal{Name: "@" + g.Name, Text: safeText(g.Text)}
		for _, name := range g.Parameters {
			v.Named.Set = append(v.Named.Set, parameter{name, setField + name, form.Get(setField + name)})
		}
	}
	if len(list) > 0 {
		v.Saved = append(v.Saved, links)
	}
}

func (p *page) startRun(w http.ResponseWriter, r request) {
	r.PostForm = withLineFeeds(r.PostForm)
	out, err := p.startBy(r.Context(), r.PostForm)
	if err != nil {
		p.showStart(w, r, "Not started: "+display.OneLine(err.Error(), 1000))
		return
	}
	leadTo(w, r, out, out.path)
}

func (p *page) startBy(ctx context.Context, form url.Values) (outcome, error) {
	s := NewRun{Repository: form.Get(repoField), Goal: strings.TrimSpace(form.Get(goalField)), Provider: strings.TrimSpace(form.Get(providerField))}
	paths, err := p.knownRepositories(ctx)
	switch {
	case err != nil:
		return outcome{}, err
	case !slices.Contains(paths, s.Repository):
		return outcome{}, faultError("no run has worked on that repository yet: start its first run with `starter run`")
	case s.Goal == "":
		return outcome{}, faultError("write the goal: what the run should change")
	}
	if strings.HasPrefix(s.Goal, "@") {
		list, err := p.commands.Goals(ctx, s.Repository)
		if err != nil {
			return outcome{}, err
		}
		at := slices.IndexFunc(list, func(g SavedGoal) bool { return "@"+g.Name == s.Goal })
		if s.Saved = at >= 0; s.Saved {
			for _, name := range list[at].Parameters {
				s.Set = append(s.Set, name+"="+form.Get(setField+name))
			}
		}
	}
	return p.startOnce(ctx, form, func(ctx context.Context) (run.ID, error) { return p.commands.Start(ctx, s) })
}
