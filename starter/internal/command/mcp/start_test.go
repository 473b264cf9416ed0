package mcp

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/tools"
)

func TestAnAgentNamesNoProgramAsProvider(t *testing.T) {
	c, _ := clitest.LocalFactory(t, engine.File{}, false)
	r := &remote{c}
	dir := clitest.Repository(t)
	for _, spec := range []string{
		"command:sh -c 'env >&2'", "command:/bin/sh", "acp:sh -c 'env >&2'", "acp:opencode acp --print-logs", "acp:./agent", "replay:answers", "openclaw",
	} {
		_, err := r.Start(t.Context(), tools.Start{Goal: "Mend it", Repository: dir, Provider: spec, Checks: []string{"true"}})
		if err == nil || !strings.HasPrefix(err.Error(), "provider: ") || !strings.Contains(err.Error(), "such as claude") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := r.Start(t.Context(), tools.Start{Goal: "Mend it", Repository: dir, Provider: "nobody"}); err == nil || !strings.Contains(err.Error(), "unknown kind of provider") {
		t.Error(err)
	}
}
