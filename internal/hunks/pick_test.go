package hunks_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/hunks"
)

const picked = `diff --git a/a.txt b/a.txt
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,3 @@
 one
+diff --git a/x b/x
 two
@@ -10,2 +11,1 @@
 ten
-@@ -1 +1 @@
@@ -20 +20,2 @@
 twenty
+more
diff --git a/b.txt b/b.txt
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/b.txt
+++ b/b.txt
@@ -1 +1,2 @@
 b
+more
`

func TestPick(t *testing.T) {
	got, err := hunks.Pick([]byte(picked), []hunks.Choice{{File: "a.txt", Numbers: []int{1, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(picked, "index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644\n", "", 1)
	want = strings.Replace(want, "@@ -10,2 +11,1 @@\n ten\n-@@ -1 +1 @@\n", "", 1)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for says, c := range map[string]hunks.Choice{
		"a.txt has no hunk 4: the patch has 3 there": {File: "a.txt", Numbers: []int{1, 4}},
		"the patch does not change c.txt":            {File: "c.txt", Numbers: []int{1}},
	} {
		if got, err := hunks.Pick([]byte(picked), []hunks.Choice{c}); err == nil || err.Error() != says {
			t.Errorf("%+v: %q, %v, want %q", c, got, err, says)
		}
	}
}
