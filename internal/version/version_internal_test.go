package version

import (
	"runtime/debug"
	"testing"
)

func TestWhatABuildKnows(t *testing.T) {
	settings := func(pairs ...string) (s []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return s
	}
	const day = "2026-11-22T00:00:00Z"
	for _, tc := range []struct {
		name  string
		set   Info
		noted debug.BuildInfo
		want  string
	}{
		{"a release", Info{"1.2.0", "abc", day}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "1.2.0 (commit abc, " + day + ")"},
		{"a release, whatever the go command noted", Info{"1.2.0", "abc", day},
			debug.BuildInfo{Main: debug.Module{Version: "v9.9.9"}, Settings: settings("vcs.revision", "def", "vcs.modified", "true")}, "1.2.0 (commit abc, " + day + ")"},
		{"installed from a tag", Info{}, debug.BuildInfo{Main: debug.Module{Version: "v1.2.0"}}, "1.2.0"},
		{"built in a checkout", Info{}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
			Settings: settings("vcs.revision", "def", "vcs.time", day, "vcs.modified", "false")}, " (commit def, " + day + ")"},
		{"built in a changed checkout", Info{}, debug.BuildInfo{Settings: settings("vcs.revision", "def", "vcs.modified", "true")}, " (commit def-dirty)"},
		{"built without a repository", Info{}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.set.fillIn(&tc.noted).String(); got != tc.want {
				t.Errorf("is %q, want %q", got, tc.want)
			}
		})
	}
	if Read().Version == "" {
		t.Error("a program without a version")
	}
}
