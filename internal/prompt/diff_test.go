package prompt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/prompt"
)

// A diff of several kinds of sections, with lines that look like headers.
func manySections() (diff, kept string, paths []string) {
	section := func(path, header, body string) {
		text := "diff --git a/" + path + " b/" + path + "\n" + header + body
		if diff += text; !prompt.Withheld(path) {
			kept += text
			paths = append(paths, path)
		}
	}
	names := func(path string) string { return "--- a/" + path + "\n+++ b/" + path + "\n" }
	section(".env", names(".env"), "@@ -1 +1 @@\n-CANARY\n+CANARY\n")
	section("run.sh", "old mode 100644\nnew mode 100755\n", "")
	section("a.go", names("a.go"), "@@ -1,2 +1,3 @@\n // fine\rdiff --git a/.env b/.env\n+diff --git a/.env b/.env\n+@@ -1 +1 @@\n-\n")
	section("server.key", "Binary files differ\n", "")
	section("long.txt", names("long.txt"), "@@ -1 +1 @@\n-"+strings.Repeat("x", 200_000)+"\n+d\n")
	section("tls/server.pem", names("tls/server.pem"), "@@ -1 +1 @@\n-CANARY\n"+strings.Repeat("+CANARY\n", 5000))
	section("b.go", names("b.go"), "@@ -1 +1 @@\n-1\n+2\n\\ No newline at end of file\n")
	return diff, kept, paths
}

// However a diff arrives, the sections of withheld files are out of it, and all others are as they were.
func TestDiffFilter(t *testing.T) {
	diff, kept, paths := manySections()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var out strings.Builder
		f := prompt.NewDiffFilter(&out)
		for rest := diff; rest != ""; {
			n := min(1+rnd.IntN(1<<rnd.IntN(18)), len(rest))
			if _, err := f.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		d := f.Close()
		if out.String() != kept || fmt.Sprint(d.Paths) != fmt.Sprint(paths) || d.Withheld != 3 {
			t.Fatalf("paths %v, %d withheld, %d bytes of %d", d.Paths, d.Withheld, out.Len(), len(kept))
		}
	}
	for _, text := range []string{"", "diff --git ", "diff --git a/x b/x", "no diff\n", "diff --gi"} {
		if d := prompt.ReadDiff([]byte(text)); d.Text != "" && d.Text != text {
			t.Errorf("%q became %+v", text, d)
		}
	}
}

// What the header of a section says in more bytes than a name has is not read.
func TestASectionWithoutAnEnd(t *testing.T) {
	d := prompt.ReadDiff([]byte("diff --git a/x b/x\n" + strings.Repeat("x", 1<<20) + "\n@@ -1 +1 @@\n+CANARY\n"))
	if d.Withheld != 1 || d.Text != "" {
		t.Errorf("%d withheld, %.80q", d.Withheld, d.Text)
	}
}
