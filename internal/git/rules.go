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

// FileRules returns the settings for line ends, modes and names of files, as extra lines for Shadow: first from the
// system's and the user's configuration, then from the repository's, in the order in which the user's git reads them. That
// git wrote the work tree. Values that git does not know are left out.
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
