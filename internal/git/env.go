package git

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// The identity in everything that git writes for Ratchet. It is fixed: the same commit made twice,
// by any worker, has the same id.
const (
	Name  = "Ratchet"
	Email = "ratchet@localhost"
)

// LockPatience is how long git waits for another git's lock on a reference. A git holds one for milliseconds.
const LockPatience = 2500 * time.Millisecond

// settings override a repository's own configuration. No setting there may start a program, open a
// connection or weaken a check of names. Filters and diff drivers cannot be overridden by name; see
// Shadow and the flags of the calls that print diffs.
var settings = [][2]string{
	{"safe.directory", "*"}, // the settings here disarm the dangers that it protects from
	{"core.hooksPath", os.DevNull},
	{"hook.reference-transaction.enabled", "false"}, // all but the hooks that runUnhooked disables by name
	{"hook.post-index-change.enabled", "false"},
	{"core.fsmonitor", "false"},
	{"core.attributesFile", os.DevNull},
	{"core.pager", "cat"},
	{"core.editor", "false"},
	{"core.sshCommand", "false"},
	{"core.protectHFS", "true"},
	{"core.protectNTFS", "true"},
	{"core.fsync", "committed"}, // objects and references survive a power cut
	{"core.filesRefLockTimeout", strconv.FormatInt(LockPatience.Milliseconds(), 10)},
	{"credential.helper", ""},
	{"protocol.allow", "never"},
	{"protocol.ext.allow", "never"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"commit.gpgSign", "false"},
	{"log.showSignature", "false"},
	{"submodule.recurse", "false"},
	{"advice.graftFileDeprecated", "false"}, // git gives this advice for an empty file, too
}

// userConfig are the variables by which git finds the configuration of the user and of the system.
var userConfig = []string{"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}

// noUserConfig has git read neither.
var noUserConfig = []string{
	"HOME=" + os.DevNull, // "~" in a configuration must have a value, with nothing in it
	"GIT_CONFIG_GLOBAL=" + os.DevNull,
	"GIT_CONFIG_NOSYSTEM=1",
}

// environ returns the whole environment of a git. From the worker it takes only the variables that
// locate programs and temporary files.
func (r Repo) environ() []string {
	var env []string
	protocol, operator := "", r.network != nil && r.network.Operator // none: a missing object is not fetched
	if r.network != nil {
		protocol = r.network.Protocol
	}
	if operator {
		env = operatorEnviron()
	}
	env = append(env,
		"LC_ALL=C",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL="+protocol,
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE="+os.DevNull,
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_PAGER=cat",
		"GIT_EDITOR=false",
		"GIT_AUTHOR_NAME="+Name,
		"GIT_AUTHOR_EMAIL="+Email,
		"GIT_COMMITTER_NAME="+Name,
		"GIT_COMMITTER_EMAIL="+Email,
	)
	names := []string{"PATH", "TMPDIR", "DEVELOPER_DIR"} // the last: where macOS keeps its git
	switch {
	case operator: // has them all
	case r.userConfig:
		names = append(names, userConfig...)
	default:
		env = append(env, noUserConfig...)
	}
	if protocol != "" && !operator {
		names = append(names, proxies...)
	}
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, v := range [][2]string{
		{"GIT_DIR", r.GitDir},
		{"GIT_WORK_TREE", r.WorkTree},
		{"GIT_INDEX_FILE", r.Index},
		{"GIT_OBJECT_DIRECTORY", r.Objects},
	} {
		if v[1] != "" {
			env = append(env, v[0]+"="+v[1])
		}
	}
	all := slices.Concat(settings, r.overrides)
	if operator {
		all = slices.DeleteFunc(all, func(s [2]string) bool { return slices.Contains(operatorOwn, s[0]) })
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(all)))
	for i, s := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}
