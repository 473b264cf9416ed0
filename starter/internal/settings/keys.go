package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// kind is the type of a key's value.
type kind string

// The kinds.
const (
	text     kind = "a string"
	list     kind = "a list of strings"
	duration kind = "a string such as \"10m\""
	integer  kind = "a whole number"
	number   kind = "a number"
	boolean  kind = "true or false"
)

// key is a setting. It has the name of the flag of `starter run` that says the same, and its values are
// the flag's.
type key struct {
	name string
	kind kind
	// lines reports that the value may have several lines.
	lines bool
	// loosens returns why a value counts only where the user himself has said it: it lets more happen than
	// the default. It returns "" for any other value. Nil: no value does.
	loosens func(value string) string
	// check refuses a value that can be judged without the rest of the run; nil: the flag does.
	check func(value string) error
}

// The most that a repository's file may set: the defaults, and for durations that a repository must be able to choose, a
// time in which a person still remembers the run.
const (
	defaultFiles = 500
	defaultBytes = 8 << 20
	longestCheck = 4 * time.Hour
	longestCall  = 2 * time.Hour
)

// keys are all settings, in the order in which they are shown.
var keys = []key{
	{name: "provider", kind: text, loosens: foreignProvider, check: checkSpec},
	{name: "planner", kind: text, loosens: foreignProvider, check: checkSpec},
	{name: "developer", kind: list, loosens: foreignProvider, check: checkSpec},
	{name: "fixer", kind: text, loosens: foreignProvider, check: checkSpec},
	{name: "evaluator", kind: text, loosens: foreignProvider, check: checkSpec},
	{name: "attempts", kind: integer, loosens: above(1, "pays for several answers at once")},
	{name: "check", kind: list, lines: true},
	{name: "env", kind: list, loosens: anything("shows a variable of yours to programs of the run")},
	{name: "check-network", kind: list, loosens: anything("lets programs of the run reach the network")},
	{name: "approve", kind: text, loosens: unless("lets patches through that no person has seen", string(run.Always)), check: checkWord[run.Policy]},
	{name: "sandbox", kind: text, loosens: unless("lets programs of the run do everything that you can do", string(run.SandboxRequired)), check: checkWord[run.Sandbox]},
	{name: "tools", kind: text, loosens: unless("lets agents use tools without asking", string(run.AskTools), string(run.DenyTools)), check: checkWord[run.Tools]},
	{name: "network", kind: boolean, loosens: unless("lets the tools of agents reach the network", "false")},
	{name: "fresh-fixer", kind: boolean},
	{name: "mode", kind: text, loosens: unless("may let an agent do more without asking than its default", setup.NarrowModes...)},
	{name: "mcp", kind: list, loosens: anything("runs any program for the agent"), check: checkServer},
	{name: "add-dir", kind: list, loosens: anything("shows a directory of yours to the agent"), check: checkDir},
	{name: "allow-tool", kind: list, loosens: anything("lets agents use tools without asking"), check: setup.CheckTool},
	{name: "deny-tool", kind: list, check: setup.CheckTool},
	{name: "max-output", kind: integer},
	{name: "temperature", kind: number},
	{name: "no-baseline", kind: boolean, loosens: unless("calls a model before the checks have run on the base commit", "false")},
	{name: "quick", kind: boolean, loosens: unless("calls a model before the checks have run on the base commit", "false")},
	{name: "max-fix", kind: integer, loosens: above(run.DefaultMaxFix, "pays for more automatic fixes than the default")},
	{name: "max-tokens", kind: integer},
	{name: "max-cost", kind: number},
	{name: "max-patch-files", kind: integer, loosens: above(defaultFiles, "allows larger patches than the default")},
	{name: "max-patch-bytes", kind: integer, loosens: above(defaultBytes, "allows larger patches than the default")},
	{name: "timeout", kind: duration, loosens: longer(longestCall)},
	{name: "check-timeout", kind: duration, loosens: longer(longestCheck)},
	{name: "approval-timeout", kind: duration},
	{name: "answer-timeout", kind: duration},
	{name: "branch", kind: text, check: checkBranch},
	{name: "commit-message", kind: text, lines: true, check: run.CheckMessage},
}

// Names returns the names of all settings of runs.
func Names() []string { return namesOf(keys) }

func namesOf(keys []key) (names []string) {
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

func findKey(keys []key, name string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// Loosens returns why a value of a setting counts only where the user himself has said it; "" if it counts
// anywhere.
func Loosens(name, value string) string {
	if k, ok := findKey(keys, name); ok && k.loosens != nil {
		return k.loosens(value)
	}
	return ""
}

// ForAgent returns the values that hold for a run that an agent starts: the providers, and what the file of a repository
// could say, too. Anything else counts only for a run that a person starts.
func (v Values) ForAgent() Values {
	held := maps.Clone(v)
	maps.DeleteFunc(held, func(name string, value Value) bool {
		return !slices.Contains(roleKeys, name) && slices.ContainsFunc(value.Texts, func(text string) bool { return Loosens(name, text) != "" })
	})
	return held
}

// roleKeys are the settings that name providers.
var roleKeys = []string{"provider", "planner", "developer", "fixer", "evaluator"}

func unless(why string, words ...string) func(string) string {
	return func(value string) string {
		if slices.Contains(words, value) {
			return ""
		}
		return why
	}
}

func anything(why string) func(string) string { return func(string) string { return why } }

func above(most int64, why string) func(string) string {
	return func(value string) string {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n <= most {
			return ""
		}
		return fmt.Sprintf("%s (%d)", why, most)
	}
}

func longer(most time.Duration) func(string) string {
	return func(value string) string {
		if d, err := time.ParseDuration(value); err == nil && d <= most {
			return ""
		}
		return fmt.Sprintf("takes longer than %s", most)
	}
}

// foreignProvider returns why a repository may not choose a provider.
func foreignProvider(value string) string {
	spec, err := catalog.Parse(value)
	if err != nil {
		return "is not a provider"
	}
	return spec.Foreign()
}

func checkSpec(value string) error {
	_, err := catalog.Parse(value)
	return err
}

// checkWord refuses a word that is none of the closed set W.
func checkWord[W ~string, P interface {
	*W
	UnmarshalText([]byte) error
}](value string) error {
	return P(new(W)).UnmarshalText([]byte(value))
}

func checkServer(value string) error {
	_, _, err := setup.ParseServer(value)
	return err
}

// checkDir refuses a relative path: the file does not say from where it would count.
func checkDir(value string) error {
	if !strings.HasPrefix(value, "/") {
		return fmt.Errorf("%q is a relative path: use an absolute path", value)
	}
	_, _, err := setup.ParseDir(value, "/")
	return err
}

// checkBranch tries the template on a run.
func checkBranch(template string) error {
	_, err := run.ExpandBranch(template, "01234567-0123-0123-0123-0123456789ab", "repository#1", "a goal")
	return err
}

// read returns the texts that the flag of the key would be given for a value of a file. It refuses a value of another
// type than the key's, and texts that no flag should have.
func (k key) read(v any) (texts []string, err error) {
	if !k.kind.hasType(v) {
		return nil, fmt.Errorf("%s must be %s", k.name, k.kind)
	}
	switch v := v.(type) {
	case float64:
		texts = []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		for _, member := range v {
			texts = append(texts, member.(string))
		}
	default:
		texts = []string{fmt.Sprint(v)}
	}
	for _, value := range texts {
		if err := k.checkText(value); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// hasType reports whether a value has the type.
func (k kind) hasType(v any) bool {
	switch v := v.(type) {
	case string:
		if k != duration {
			return k == text
		}
		d, err := time.ParseDuration(v)
		return err == nil && d >= 0
	case bool:
		return k == boolean
	case int64:
		return (k == integer || k == number) && v >= 0
	case float64:
		return k == number && v >= 0 && v < 1e12
	case []any:
		return k == list && !slices.ContainsFunc(v, func(member any) bool { _, ok := member.(string); return !ok })
	}
	return false
}

func (k key) checkText(value string) error {
	if strings.TrimSpace(value) == "" {
		return fmt.Errorf("%s is empty: remove the key", k.name)
	}
	for _, r := range value {
		if r == utf8.RuneError || !unicode.IsPrint(r) && !(k.lines && (r == '\n' || r == '\t')) {
			return fmt.Errorf("%s holds the character %+q, which is not printable", k.name, r)
		}
	}
	if k.check != nil {
		if err := k.check(value); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}
