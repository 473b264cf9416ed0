package proc

import (
	"maps"
	"slices"
)

// defaultPath is the PATH of a child where ours is not set.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Environ returns the environment of a child as sorted NAME=value entries: PATH and LANG, the named
// variables that are set, and extra, which takes precedence. lookup finds the values, as
// os.LookupEnv does. No other variable of ours reaches the child, and therefore no secret does.
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
