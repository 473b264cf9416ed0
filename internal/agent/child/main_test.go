package child_test

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the programs that are run: this binary, called with the name
// of one.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "echo": // says every line again
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(lines.Text())
		}
	case "long": // one line without an end, after a blank one
		fmt.Print("\n  \n" + strings.Repeat("x", 1<<20))
	case "fail":
		fmt.Fprintln(os.Stderr, "no way")
		os.Exit(3)
	case "deaf": // reads nothing, and does not end when asked to
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("here")
		time.Sleep(time.Hour)
	case "flood": // writes pages without an end, and a dot for each
		for page := strings.Repeat("x", 4<<10-1) + "\n"; ; {
			fmt.Print(page)
			fmt.Fprint(os.Stderr, ".")
		}
	default:
		os.Exit(m.Run())
	}
}
