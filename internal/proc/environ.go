package proc

import (
	"maps"
	"slices"
)

// defaultPath is PATH where ours has none.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Environ makes the environment of a child as NAME=value, sorted: PATH and LANG, the named variables that are set, and extra,
// which wins. lookup finds the values, as os.LookupEnv does. Nothing else of ours gets through, so that no secret does.
func Environ(lookup func(string) (string, bool), names []string, extra map[string]string) []string {
	vars := map[string]string{"PATH": defaultPath, "LANG": "C.UTF-8"}
	for _, name := range append([]string{"PATH", "LANG"}, names...) {
		if v, ok := lookup(name); ok {
			vars[name] = v
		}
	}
	maps.Copy(vars, extra)

	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}
