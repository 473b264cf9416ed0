package allow

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The presets: registry means all registries, registry:go one of them.
const (
	presetAll    = "registry"
	presetPrefix = "registry:"
)

// registry is where the packages of one language come from.
type registry struct {
	word     string   // after registry:
	defaults []string // the targets that the language's own client reaches if nothing else is said
	// variables of the client say where its packages come from.
	variables []string
	// named returns the URLs that the variables name instead; nothing means the defaults.
	named func(value func(name string) string) []string
}

// registries are the presets, with the sources of their defaults:
//   - go: the defaults of GOPROXY and GOSUMDB (go.dev/ref/mod#environment-variables). proxy.golang.org
//     hands large modules out by redirects to storage.googleapis.com. That host is not among them,
//     because anybody can have a bucket there; name it beside the preset where a module needs it.
//   - npm: the default of the setting registry (docs.npmjs.com/cli/using-npm/config).
//   - pip: the default of --index-url and the host of the files that its pages name
//     (pip.pypa.io/en/stable/cli/pip_install, warehouse.pypa.io/api-reference).
//   - cargo: CRATES_IO_HTTP_INDEX of cargo and the host that config.json of this index names
//     (doc.rust-lang.org/cargo/reference/registry-index.html).
var registries = []registry{
	{word: "go", defaults: []string{"proxy.golang.org:443", "sum.golang.org:443"}, named: goRegistries,
		variables: []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE"}},
	{word: "npm", defaults: []string{"registry.npmjs.org:443"}, named: npmRegistries,
		variables: []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"}},
	{word: "pip", defaults: []string{"pypi.org:443", "files.pythonhosted.org:443"}, named: pipRegistries,
		variables: []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"}},
	{word: "cargo", defaults: []string{"index.crates.io:443", "static.crates.io:443"}, named: cargoRegistries,
		variables: []string{"CARGO_REGISTRY_DEFAULT"}},
}

// Check returns an error of one line if the entry is neither a target nor a preset. Workflows call it: it
// is a pure function of the entry, although the parser of addresses keeps a table of its own.
//
//workflowcheck:ignore
func Check(entry string) error {
	_, err := expand(entry, func(string) string { return "" })
	return err
}

// Lookup returns the value of a variable, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

func (l Lookup) value(name string) string {
	value, _ := l(name)
	return value
}

// Expand returns the targets of all entries, each once, sorted by their texts. A preset stands for
// the registries that the environment names, or else for those that the language's client uses by
// itself.
func Expand(entries []string, environ Lookup) ([]Target, error) {
	var all []Target
	for _, entry := range entries {
		targets, err := expand(entry, environ.value)
		if err != nil {
			return nil, err
		}
		all = append(all, targets...)
	}
	slices.SortFunc(all, func(a, b Target) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all), nil
}

// Variables returns the names of the variables that the clients of the presets among the entries need
// to see, so that they ask the registries that Expand found. It leaves out what has a password.
func Variables(entries []string, environ Lookup) []string {
	var names []string
	for _, r := range registries {
		if !slices.Contains(entries, presetAll) && !slices.Contains(entries, presetPrefix+r.word) {
			continue
		}
		names = append(names, r.variables...)
		if r.word == "cargo" {
			names = append(names, cargoIndex(environ.value))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		value, ok := environ(name)
		return !ok || strings.Contains(value, "@")
	})
}

func expand(entry string, value func(name string) string) ([]Target, error) {
	word, isPreset := strings.CutPrefix(entry, presetPrefix)
	if !isPreset && entry != presetAll {
		target, err := Parse(entry)
		return []Target{target}, err
	}
	var words []string
	var targets []Target
	for _, r := range registries {
		words = append(words, presetPrefix+r.word)
		if isPreset && r.word != word {
			continue
		}
		found, err := r.targets(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry, err)
		}
		targets = append(targets, found...)
	}
	if targets == nil && !slices.Contains(words, entry) {
		return nil, fmt.Errorf("network target %.80q: the presets are %s and %s", entry, presetAll, strings.Join(words, ", "))
	}
	return targets, nil
}

func (r registry) targets(value func(name string) string) ([]Target, error) {
	var targets []Target
	for _, text := range r.named(value) {
		target, err := OfURL(text)
		if err != nil {
			return nil, fmt.Errorf("the environment names a registry: %w", err)
		}
		targets = append(targets, target)
	}
	if targets != nil {
		return targets, nil
	}
	for _, text := range r.defaults {
		target, err := Parse(text)
		if err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	return targets, nil
}

// OfURL returns the target that a client reaches for a URL of the schemes http and https. Its errors
// do not repeat the URL, which may hold a password. The name localhost stands for 127.0.0.1.
func OfURL(text string) (Target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Target{}, errors.New("not a URL")
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return Parse(host + ":" + port)
}

// goRegistries returns the URLs of GOPROXY, and the checksum database beside them unless it is
// switched off. A proxy may serve the database too; then its host is not asked.
func goRegistries(value func(name string) string) []string {
	urls := onlyWeb(strings.FieldsFunc(value("GOPROXY"), func(r rune) bool { return r == ',' || r == '|' }))
	if len(urls) == 0 {
		return nil
	}
	switch sum := strings.Fields(value("GOSUMDB")); {
	case len(sum) == 0:
		return append(urls, "https://sum.golang.org")
	case len(sum) > 1:
		return append(urls, onlyWeb(sum[1:])...)
	case sum[0] != "off":
		name, _, _ := strings.Cut(sum[0], "+")
		return append(urls, "https://"+name)
	}
	return urls
}

func npmRegistries(value func(name string) string) []string {
	return onlyWeb([]string{value("npm_config_registry"), value("NPM_CONFIG_REGISTRY")})
}

func pipRegistries(value func(name string) string) []string {
	urls := onlyWeb([]string{value("PIP_INDEX_URL"), value("UV_DEFAULT_INDEX"), value("UV_INDEX_URL")})
	extra := onlyWeb(strings.Fields(value("PIP_EXTRA_INDEX_URL")))
	if len(urls) == 0 && len(extra) > 0 {
		urls = []string{"https://pypi.org", "https://files.pythonhosted.org"}
	}
	return append(urls, extra...)
}

// cargoRegistries returns the index of the registry that CARGO_REGISTRY_DEFAULT names. Cargo asks it in
// the place of crates.io where a command may choose.
func cargoRegistries(value func(name string) string) []string {
	return onlyWeb([]string{strings.TrimPrefix(value(cargoIndex(value)), "sparse+")})
}

// cargoIndex returns the name of the variable that has the index of the default registry.
func cargoIndex(value func(name string) string) string {
	name := strings.ReplaceAll(strings.ToUpper(value("CARGO_REGISTRY_DEFAULT")), "-", "_")
	return "CARGO_REGISTRIES_" + name + "_INDEX"
}

// onlyWeb returns the URLs that are reached by the network, in their order.
func onlyWeb(urls []string) []string {
	return slices.DeleteFunc(urls, func(u string) bool {
		return !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://")
	})
}
