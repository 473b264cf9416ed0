// Package golden compares texts with files that a person has reviewed. `go test -update` writes the files again.
package golden

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// Compare fails the test if the file does not hold the text.
func Compare(t testing.TB, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs: go test -update writes it anew, to be reviewed. got:\n%s", file, text)
	}
}
