package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Story is a run that is summed up.
type Story struct {
	Events []run.Event // all, from the first on
	Merged bool        // a branch of the user's has its commits
}

// Figures are sums over runs. Money is in micro-dollars, and counts what providers say.
type Figures struct {
	Runs     int `json:"runs"`
	Done     int `json:"completed"`
	Failed   int `json:"failed"`
	Canceled int `json:"canceled"`
	Open     int `json:"open"`
	// FirstTry counts the completed runs whose first patch was approved and passed: there was no fix and no rejection.
	FirstTry int `json:"firstTry"`
	SentBack int `json:"sentBack"` // patches that a person refused
	Fixes    int `json:"fixes"`    // fix phases
	Asked    int `json:"asked"`    // questions to a person
	Merged   int `json:"merged"`   // runs
	run.Usage
	// MicrosPerMerged is the cost of all runs divided by the merged ones; zero if none is.
	MicrosPerMerged run.Micros `json:"costMicrosPerMerged,omitempty"`
}

// FirstTryShare returns the percentage of the runs that ended by themselves, completed or failed, which took one
// patch; -1 if none did.
func (f Figures) FirstTryShare() int {
	if f.Done+f.Failed == 0 {
		return -1
	}
	return (100*f.FirstTry + (f.Done+f.Failed)/2) / (f.Done + f.Failed)
}

func (f *Figures) add(g Figures) {
	f.Runs += g.Runs
	f.Done += g.Done
	f.Failed += g.Failed
	f.Canceled += g.Canceled
	f.Open += g.Open
	f.FirstTry += g.FirstTry
	f.SentBack += g.SentBack
	f.Fixes += g.Fixes
	f.Asked += g.Asked
	f.Merged += g.Merged
	f.Usage = f.Usage.Add(g.Usage)
}

func (f *Figures) finish() {
	if f.Merged > 0 {
		f.MicrosPerMerged = f.Cost / run.Micros(f.Merged)
	}
}

// Row is the sum for one repository or one provider.
type Row struct {
	Name string `json:"name"` // path of the repository, or spec of the provider
	Figures
}

// Report is a summary.
type Report struct {
	Since        time.Time `json:"since"`
	Repositories []Row     `json:"repositories"`
	// Providers have the runs whose developer they were, with all that these used in phases of that provider. What
	// other providers used in the same runs is in their own rows.
	Providers []Row   `json:"providers"`
	Total     Figures `json:"total"`
}

// Of sums up the runs that began at since or later. The error names a run whose events do not fit together.
func Of(stories []Story, since time.Time) (Report, error) {
	r := Report{Since: since}
	repositories, providers := map[string]*Figures{}, map[string]*Figures{}
	for _, s := range stories {
		if len(s.Events) == 0 || s.Events[0].TS.Before(since) {
			continue
		}
		one, by, err := sumUp(s)
		if err != nil {
			return r, err
		}
		created, _ := s.Events[0].Payload.(run.RunCreated)
		add(repositories, created.Repository.Shown(), one)
		r.Total.add(one)
		for spec, used := range by {
			part := Figures{Usage: used}
			if spec == created.Providers.Developer {
				part = one
				part.Usage = used
			}
			add(providers, spec, part)
		}
	}
	r.Total.finish()
	r.Repositories, r.Providers = sortedRows(repositories), sortedRows(providers)
	return r, nil
}

func add(sums map[string]*Figures, name string, f Figures) {
	if sums[name] == nil {
		sums[name] = &Figures{}
	}
	sums[name].add(f)
}

// sortedRows returns the sums, those with the most runs first.
func sortedRows(sums map[string]*Figures) []Row {
	list := []Row{}
	for name, f := range sums {
		f.finish()
		list = append(list, Row{name, *f})
	}
	slices.SortFunc(list, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// sumUp folds the events of a run. What it used is also split by the provider of the phase that used it.
func sumUp(story Story) (f Figures, by map[string]run.Usage, err error) {
	s := run.New(run.Input{})
	by = map[string]run.Usage{}
	provider, parts := "", 0
	for _, e := range story.Events {
		before, waiting := s.Usage, s.Approval
		if err := s.Apply(e); err != nil {
			return f, nil, fmt.Errorf("run %s: %w", e.RunID, err)
		}
		switch p := e.Payload.(type) {
		case run.RunCreated:
			by[p.Providers.Developer] = run.Usage{}
		case run.PhaseStarted:
			provider = cmp.Or(p.Provider, provider)
			if e.Phase == run.Fix {
				f.Fixes++
			}
		case run.ApprovalRejected:
			switch {
			case len(p.Files) > 0:
				parts++
			case waiting != nil && waiting.Permission == nil:
				f.SentBack++
			}
		case run.QuestionRaised:
			f.Asked++
		}
		if used := s.Usage.Sub(before); used != (run.Usage{}) {
			by[provider] = by[provider].Add(used)
		}
	}
	f.Runs, f.Usage = 1, s.Usage
	switch s.State.Status {
	case run.Completed:
		f.Done = 1
		if f.Fixes == 0 && f.SentBack == 0 && parts == 0 {
			f.FirstTry = 1
		}
	case run.Failed:
		f.Failed = 1
	case run.Canceled:
		f.Canceled = 1
	default:
		f.Open = 1
	}
	if story.Merged {
		f.Merged = 1
	}
	return f, by, nil
}
