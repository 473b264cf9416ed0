package git

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// fileRules are the settings for the form of files and their names on a file system, with the values that they may have.
// None starts a program.
var fileRules = map[string][]string{
	"core.autocrlf":          {"true", "false", "input"},
	"core.eol":               {"lf", "crlf", "native"},
	"core.filemode":          {"true", "false"},
	"core.ignorecase":        {"true", "false"},
	"core.symlinks":          {"true", "false"},
	"core.precomposeunicode": {"true", "false"},
	"core.trustctime":        {"true", "false"},
	"core.checkstat":         {"default", "minimal"},
}

// FileRules returns the settings for the form of files and their names on this file system, as extra lines for Shadow:
// those of the system's and the user's configuration and then the repository's own, as the user's git reads them, which
// has written the work tree. It leaves out other values than git knows.
func (r Repo) FileRules(ctx context.Context) ([]string, error) {
	r.userConfig = true
	names := slices.Sorted(maps.Keys(fileRules))
	pattern := "^(" + strings.ReplaceAll(strings.Join(names, "|"), ".", `\.`) + ")$"
	out, err := r.Run(ctx, "config", "-z", "--type=bool-or-str", "--get-regexp", pattern)
	if err != nil && ExitCode(err) != 1 { // 1: none is set
		return nil, err
	}
	var rules []string
	for item := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(item, "\n")
		if value = strings.ToLower(value); slices.Contains(fileRules[name], value) {
			rules = append(rules, name+"="+value)
		}
	}
	return rules, nil
}
