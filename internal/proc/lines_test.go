package proc_test

import (
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

func TestLines(t *testing.T) {
	for name, test := range map[string]struct {
		writes []string
		want   []string
	}{
		"nothing":                  {nil, nil},
		"several in one write":     {[]string{"a\nb\n"}, []string{"a", "b"}},
		"one in several writes":    {[]string{"a", "b", "\n"}, []string{"ab"}},
		"last without an end":      {[]string{"a\nb"}, []string{"a", "b"}},
		"empty":                    {[]string{"\n\n"}, []string{"", ""}},
		"exactly the most":         {[]string{"12345\n6"}, []string{"12345", "6"}},
		"too long, then a new one": {[]string{"1234567", "89\nab\n"}, []string{"12345+", "ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			lines := proc.Lines{Max: 5, Each: func(line []byte, cut bool) {
				if cut {
					line = append(line, '+')
				}
				got = append(got, string(line))
			}}
			for _, w := range test.writes {
				if n, err := lines.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("write: %d, %v", n, err)
				}
			}
			lines.Close()
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}
