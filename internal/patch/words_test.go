package patch_test

import (
	"encoding/json"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

func TestUnknownWordsAreRefused(t *testing.T) {
	for _, into := range []any{new(patch.Kind), new(patch.Result), new(patch.RefusalKind), new(patch.RepairKind)} {
		for _, word := range []string{`""`, `"Modified"`, `"anything"`} {
			if err := json.Unmarshal([]byte(word), into); err == nil {
				t.Errorf("%T took %s", into, word)
			}
		}
	}
	var k patch.Kind
	if err := json.Unmarshal([]byte(`"modified"`), &k); err != nil || k != patch.Modified {
		t.Errorf("%q, %v", k, err)
	}
}
